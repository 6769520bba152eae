import type { Events } from "../../events/index.ts";
import { currentDate, type RegisteredUser } from "../../support/index.ts";
import type { AccountChanges, AccountConditions } from "../users/account-store.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import { type ApplicationAccess, applicationAccessOf } from "./application-access.ts";

/**
 * How far access to an account ends:
 *
 * - `others`: everything except the login of the request, which continues with a new token;
 * - `everything`: each login, link, token and login that waits for a step.
 *
 * Ending one login (a logout) or revoking one token ends nothing else, and isn't an end of access.
 */
export type AccessScope = "others" | "everything";

/** Why access to an account ends. Events and audit lines contain these words. */
export const ACCESS_END_REASONS = [
  /** The user has logged out other devices, or all of them. */
  "user",
  /** The application asked for it: `accounts.endAccess`, `user.endAccess()`, or a user saved with a new password. */
  "application",
  /** An operator asked for it with a command. */
  "command",
  "password_changed",
  "password_reset",
  "password_voided",
  "email_changed",
  "email_change_undone",
  /** Someone has registered the address of an account that was never verified. */
  "registered_again",
  /** The address was proved for the first time, so everything that was set up before has ended. */
  "address_proved",
  "blocked",
  "unblocked",
  /** The account was closed. Until it is deleted or anonymized, a login reopens it. */
  "closed",
  /** A closed account was anonymized. */
  "anonymized",
  "deleted",
] as const;

/** Why access to an account ends; see {@link ACCESS_END_REASONS}. */
export type AccessEndReason = (typeof ACCESS_END_REASONS)[number];

/** Access to an account has ended, except for the login of the request if `what` is `others`. */
export interface AccessEndedEvent {
  /** When it happened. */
  readonly time: Date;
  /** The client's address; `null` outside of a request. */
  readonly address: string | null;
  /** The name of a guard with this user; `null` if no guard is known. */
  readonly guard: string | null;
  readonly user: RegisteredUser;
  readonly what: AccessScope;
  readonly reason: AccessEndReason;
}

declare module "../../events/event-map.ts" {
  interface FrameworkEvents {
    "auth.access_ended": AccessEndedEvent;
  }
}

/**
 * A user with credentials other than logins that end together with access to the account, such as an API token. The
 * mixins that add such credentials implement it, and each of them calls the method that it overrides.
 */
export interface CredentialHolder {
  /**
   * Removes these credentials, if the user has any. Called each time access to the account ends, after the user's row
   * has been written, in the same transaction. If it throws, access doesn't end.
   *
   * If it only clears columns that `accessChanges()` already names, it may have the property `endsWithRow`: then it isn't
   * called for each user if access to all accounts ends at once.
   */
  readonly endCredentials: { (): Promise<void>; readonly endsWithRow?: boolean };
}

/**
 * Which proof the end of access depends on:
 *
 * - `user`: if the user's state when they were read still holds. Nothing ends if access to the account has ended since,
 *   so only one of two parallel changes is made.
 * - `none`: on no proof. The user as stored now counts.
 */
export type AccessProof = "user" | "none";

/**
 * Changes an account's row when access to it ends, with a new epoch, if the proof holds; `null` if nothing was written.
 */
export type UpdateEnding<User> = (changes?: AccountChanges, conditions?: AccountConditions) => Promise<User | null>;

/** What ends, why, and by whose proof. */
export interface AccessEnding<User> {
  readonly what: AccessScope;
  readonly reason: AccessEndReason;
  readonly proof: AccessProof;
  /** Further changes in the same statement: the password, the address; an epoch instead of a random one. */
  readonly changes?: AccountChanges;
  /** Values that the stored account must still have. */
  readonly conditions?: AccountConditions;
  /** Replaces the single statement if the decision needs more than that; returns `null` if access must not end. */
  readonly write?: (update: UpdateEnding<User>) => Promise<User | null>;
  /** Further work in the same transaction, done last. If it throws, access does not end. */
  readonly also?: (changed: User) => Promise<void>;
}

/** An account where it is stored. */
export interface StoredAccount<User> {
  /** Writes the row, with a new epoch, if it fulfills the conditions and the proof holds. */
  update(proof: AccessProof, changes: AccountChanges, conditions: AccountConditions): Promise<User | null>;
  /** Runs work in one transaction of all that the account is stored in. */
  transaction<T>(work: () => Promise<T>): Promise<T>;
  /** Deletes the account's logins, except the current one, if `what` is `others`. */
  endLogins(changed: User, what: AccessScope): Promise<void>;
  /** The receiver of {@link AccessEndedEvent}: the application's events, with the rest of the event's contents. */
  readonly audience: AccessAudience | null;
}

/** Who is notified that access has ended. */
export interface AccessAudience extends Pick<AccessEndedEvent, "address" | "guard"> {
  readonly events: Events | null;
}

/**
 * Ends access to an account. Everything that ends it calls this function, which decides what happens, and in which order, in
 * one transaction:
 *
 * 1. The row is written, with a new epoch. That locks it, and invalidates everything that is bound to the epoch,
 *    including a login in progress that can't be deleted yet.
 * 2. The credentials of the user's class, and of features, are removed.
 * 3. The logins are deleted, except the current one.
 * 4. The caller's own work is done, such as queuing a mail.
 *
 * After the commit, `auth.access_ended` reports what ended, and why.
 *
 * @returns the user with the new epoch; `null`, with nothing written, if the account doesn't exist, or the proof or a
 * condition doesn't hold
 */
export async function endAccess<User extends Authenticatable>(
  account: StoredAccount<User>,
  { what, reason, proof, changes = {}, conditions = {}, write = (update) => update(), also }: AccessEnding<User>,
): Promise<User | null> {
  const ended = await account.transaction(async () => {
    const changed = await write((more = changes, unless = conditions) => account.update(proof, more, unless));
    if (changed === null) return null;
    await endCredentials(changed);
    await account.endLogins(changed, what);
    await also?.(changed);
    return changed;
  });
  if (ended !== null) announceEnd(account.audience, ended, what, reason);
  return ended;
}

/** Announces that access to an account has ended. */
export function announceEnd(
  audience: AccessAudience | null,
  user: object,
  what: AccessScope,
  reason: AccessEndReason,
): void {
  if (audience === null) return;
  const { events, ...details } = audience;
  void events?.emit("auth.access_ended", {
    time: currentDate(),
    ...details,
    user: user as RegisteredUser,
    what,
    reason,
  });
}

/** Reports whether the class of a user has credentials other than logins. */
function holdsCredentials(user: object): user is CredentialHolder {
  return typeof (user as Partial<CredentialHolder>).endCredentials === "function";
}

/** Reports whether a user may have credentials other than logins: the class's own, or those that features store. */
export function mayHoldCredentials(user: object): boolean {
  return holdsCredentials(user) || (applicationAccessOf(user)?.hasFeatures ?? false);
}

/** Removes a user's credentials other than logins. */
async function endCredentials(user: Authenticatable): Promise<void> {
  if (holdsCredentials(user)) await user.endCredentials();
  await applicationAccessOf(user)?.endFeatures(user);
}

/** The user's application, which is notified when the user's own method has ended access. */
export function audienceOf(user: object, access: ApplicationAccess | null = applicationAccessOf(user)): AccessAudience {
  const events = access?.container.has("events") ? access.container.make("events") : null;
  return { address: null, guard: access?.guardOf(user.constructor) ?? null, events };
}

/** Reports whether a user's credentials are all columns of the row, or bound to its access epoch. */
export function endsWithRow(user: object): boolean {
  if (holdsCredentials(user) && user.endCredentials.endsWithRow !== true) return false;
  return applicationAccessOf(user)?.isBoundToEpoch ?? true;
}
