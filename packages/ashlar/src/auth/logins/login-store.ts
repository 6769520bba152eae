import type { Container } from "../../kernel/index.ts";
import type { MaybePromise } from "../../support/index.ts";
import type { LoginProof } from "../access/access-epoch.ts";
import type { LoginMethod } from "../proofs/login-methods.ts";
import type { Authenticatable, UserId } from "../users/authenticatable.ts";

/** The access epoch of the row of a login that waits for a step. No user has it, so the row never counts as a login. */
export const PENDING_EPOCH = "pending";

/**
 * The owner of a login. The key alone does not identify it: guards can have users in different tables, with equal keys.
 */
export interface LoginOwner {
  /** The name of the guard. */
  readonly guard: string;
  /** The user's primary key. */
  readonly userId: UserId;
}

/** A login as it is stored: one device that a user is logged in on. */
export interface Login {
  /** The login's key in the store: any text, unique in the store. Users see it, and send it back to end the login. */
  readonly id: string;
  /** The primary key of the user. A store may return it as text, even if it has another type. */
  readonly userId: UserId;
  /**
   * The user's access epoch when the login started, or the newer one that it continued under. The login is invalid once
   * the user's epoch differs. If the login waits for a step, this is `pending`, which is never the epoch of a user.
   */
  readonly accessEpoch: string;
  /** When the user last proved who they are; `null` if never, or if that no longer counts. */
  readonly authenticatedAt: Date | null;
  /**
   * The proofs that the user has given in this login, each with its latest time; may be empty. A store that has no
   * place for them, and older rows, leave it out.
   */
  readonly methods?: readonly LoginMethod[] | undefined;
  readonly lastUsedAt: Date;
  /** When it currently ends: a use postpones that, as far as the guard allows. */
  readonly expiresAt: Date;
  readonly createdAt: Date;
}

/** A login that was found by its token. */
export interface FoundLogin extends Login {
  /**
   * The user, if the store has read it together with the login; `null` if the user no longer exists. If it is left out,
   * the guard asks the class of its users for `userId`.
   */
  readonly user?: Authenticatable | null;
}

/** A login in the list of its user's logins. */
export interface ListedLogin extends Login {
  /** The address it was last used from; `null` if that is unknown, or no longer stored. */
  readonly ip: string | null;
  /** The client's user agent at that time, at most 255 UTF-16 units; `null` likewise. */
  readonly userAgent: string | null;
}

/** The logins that {@link LoginStore.list} returns: one page of a user's logins, in one access epoch or in all. */
export interface LoginRange {
  /** How many at most: those nearest to the login that the range starts from. */
  readonly limit: number;
  /** Only logins older than the one with this key. If it has ended since, all of them will do. */
  readonly olderThan?: string | null;
  /**
   * Only logins newer than the one with this key. If it has ended since, none is accepted. At most one of the two is
   * set.
   */
  readonly newerThan?: string | null;
  /** Only logins in this access epoch; all if it is left out. */
  readonly accessEpoch?: string;
}

/** A login to be stored. */
export interface NewLogin extends Omit<ListedLogin, "id">, LoginOwner {
  /** The digest of the token that the browser has: 43 characters of base64url. The store never sees the token. */
  readonly tokenHash: string;
}

/** A use of a login, to be recorded. */
export interface LoginUse extends Pick<ListedLogin, "id" | "ip" | "userAgent" | "lastUsedAt" | "expiresAt"> {
  readonly guard: string;
}

/** One login, by its key and its owner, or by the digest of its token. */
export type LoginReference =
  | (LoginOwner & { readonly id: string; readonly tokenHash?: undefined })
  | { readonly guard: string; readonly tokenHash: string };

/** What {@link LoginStore.prune} deletes. */
export interface LoginPruning {
  /** Logins that ended at or before this time are deleted. */
  readonly endedBefore: Date;
  /** Active logins that were last used at or before this time lose their address and user agent. */
  readonly unusedSince: Date;
  /**
   * Returns which of the given users of a guard exist, as text; `null` if that cannot be determined. The logins of all
   * others are deleted. Ask for a few hundred at a time.
   */
  readonly existingUsers: (guard: string, userIds: readonly UserId[]) => Promise<ReadonlySet<string> | null>;
  /** Stops the pruning as soon as possible; the rest is pruned the next time. */
  readonly signal?: AbortSignal | undefined;
}

/** The results of {@link LoginStore.prune}. */
export interface PrunedLogins {
  /** How many logins were deleted. */
  readonly logins: number;
  /** How many logins lost their address and user agent. */
  readonly addresses: number;
}

/**
 * Stores the logins of guards with the driver `web`: the option `logins` of an entry of `GUARDS`.
 * `databaseLogins` is one such store, and the default. `loginStoreSuite` of `ashlar/testing` tests the contract
 * described here.
 *
 * ```ts
 * // config/auth.ts
 * export const GUARDS = { default: "web", web: { model: User, logins: databaseLogins() } };
 * ```
 *
 * A store returns values exactly as it received them: texts to the character, times to the millisecond. It decides
 * nothing about access. Whether a login has ended, belongs to this user, or is invalid under the user's access epoch is
 * checked by the guard, each time the login is used. A store must guarantee the following:
 *
 * - **A login exists from the moment that `start` resolves**, for every process, until it is ended or pruned. A login
 *   that was ended is gone immediately and permanently: a `touch` or `renew` that is running at that moment does not
 *   bring it back. Each of them must be one conditional step, never a read followed by a write of the complete login.
 * - **A proof is good only while it holds.** A password can be reset while a login with the old one is in progress. If
 *   the store can reach the user's row, `start` and `renew` are one statement that is conditional on it
 *   (`insert … select … from users where access_epoch = ?`). Otherwise they write first, then call
 *   {@link LoginProof.holds}, and undo the write if it returns `false`. The order matters: code that ends access
 *   changes the user first, and ends the logins afterwards. A login that is found in the meantime is refused because of
 *   its epoch.
 * - **A login ends once.** If several requests end it at the same time, `end` returns `true` to only one of them. A
 *   login that waits for a step depends on this: it is stored too, under an access epoch that no user has, and
 *   completing it ends that login.
 * - **Guards are separate.** Each operation reaches only the logins of the guard that it names, even if keys are equal.
 * - **Failures throw.** A store that is unavailable must not respond as if there were no login, or as if a login had
 *   been ended. The request then fails, and a password is not changed if its logins could not be ended.
 *
 * When access ends, `endAll` is called within the transaction that changes the user. A store in the same database takes
 * part in it. Any other store does its work immediately: if the transaction is then rolled back, the user has to log in
 * again, and logins that were to end have ended.
 *
 * Security: store only digests, exactly as given. Addresses and user agents are personal data: `prune` deletes
 * them.
 */
export interface LoginStore {
  /**
   * Called once when the application boots, before anything else. Leave it out if there is nothing to prepare. If it throws,
   * the application does not start.
   */
  prepare?(): MaybePromise<void>;
  /**
   * Finds the login with a token's digest, ended or not; `null` if there isn't one. Called once for each request with a
   * cookie.
   */
  find(guard: string, tokenHash: string): MaybePromise<FoundLogin | null>;
  /**
   * Finds out which of several digests belongs to a login's token; `null` if none does. At most one is. Called if
   * `find` returns `null`, for the tokens that may have replaced the one in the cookie in about the last minute: 14 for
   * each of the application's keys.
   */
  findToken(guard: string, tokenHashes: readonly string[]): Promise<string | null>;
  /**
   * Stores a login that is based on a proof.
   *
   * @returns its key; `null`, with nothing stored, if the proof no longer holds
   */
  start(login: NewLogin, proof: LoginProof): Promise<string | null>;
  /**
   * Replaces a login's token, because its user has proved once more who they are. The old token becomes invalid. If
   * several requests replace the same token at once, only one succeeds, because the same step checks that the login
   * still has the token.
   *
   * @param login its key, its owner, and the digest of the token that it has. The new one may be equal to it
   * @returns whether the proof still held, and the login existed with that token, in the proof's access epoch
   */
  renew(login: RenewedLogin, renewal: LoginRenewal, proof: LoginProof): Promise<boolean>;
  /**
   * Records a use. Called after the response, and only once in a while for each login. A login that no longer exists is
   * not created again.
   */
  touch(use: LoginUse): Promise<void>;
  /**
   * A range of a user's logins, newest first: as many as the limit allows. It may include logins that have ended.
   *
   * @param range its keys may come from an input, as any text
   */
  list(owner: LoginOwner, range: LoginRange): Promise<readonly ListedLogin[]>;
  /**
   * Ends a login.
   *
   * @param login its key may come from an input, as any text
   * @returns whether the login existed
   */
  end(login: LoginReference): Promise<boolean>;
  /**
   * Ends all logins of a user.
   *
   * @param kept the login that continues, if it exists, under a new access epoch: its user has changed the epoch with
   * it
   * @returns how many were ended, including those that waited for a step
   */
  endAll(owner: LoginOwner, kept?: KeptLogin | null): Promise<number>;
  /**
   * Ends the oldest of a user's logins. Called after each `start`: if several run at the same time, the last of them must
   * find every login that was started before it.
   *
   * @param keep how many of the newest stay, at least 1. Logins that have expired, and those that wait for a step, don't
   * count, and need not be ended.
   * @returns how many were ended
   */
  endOldest(owner: LoginOwner, keep: number): Promise<number>;
  /** Deletes rows that must no longer be stored. Called by `ashlar prune`, and once a day by the server. */
  prune(pruning: LoginPruning): Promise<PrunedLogins>;
  /**
   * Releases all resources. Called once when the application shuts down, after the last `touch`. Leave it out if there is
   * nothing to release.
   */
  close?(): MaybePromise<void>;
}

/** The login that gets a new token from {@link LoginStore.renew}. */
export interface RenewedLogin extends LoginOwner {
  readonly id: string;
  /** The digest of the token that it must still have. */
  readonly tokenHash: string;
}

/** What {@link LoginStore.renew} changes. */
export interface LoginRenewal {
  readonly tokenHash: string;
  /** When the user proved who they are; `null` if that no longer counts. */
  readonly authenticatedAt: Date | null;
  /** The proofs so far; if missing, they stay unchanged. */
  readonly methods?: readonly LoginMethod[] | undefined;
}

/** The login that {@link LoginStore.endAll} leaves. */
export interface KeptLogin {
  readonly id: string;
  /** The access epoch that it continues under. */
  readonly accessEpoch: string;
  /** Its new token: the old one becomes invalid in the same step. Without it, the login keeps the token that it has. */
  readonly renewal?: LoginRenewal;
}

/** A store, or a function that creates one for each application that has it in its configuration. */
export type LoginStoreSource = LoginStore | ((container: Container) => LoginStore);

const METHODS = [
  "find",
  "findToken",
  "start",
  "renew",
  "touch",
  "list",
  "end",
  "endAll",
  "endOldest",
  "prune",
] as const;

/** Reports whether a value can be a {@link LoginStoreSource}. */
export function isLoginStoreSource(value: unknown): value is LoginStoreSource {
  if (typeof value === "function") return true;
  const methods = Object(value) as Partial<LoginStore>;
  return METHODS.every((name) => typeof methods[name] === "function");
}
