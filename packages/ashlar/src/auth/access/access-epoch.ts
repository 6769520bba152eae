import { digest, randomToken } from "../../security/index.ts";
import { AshlarError } from "../../support/index.ts";
import { type Authenticatable, type AuthenticatableClass, isBlocked } from "../users/authenticatable.ts";
import "../errors.ts";

const EPOCH_BYTES = 16;

/**
 * The column values that a user's row must have for a proof to still be valid. `null` means that the column is empty.
 */
export type AccessConditions = Readonly<Record<string, string | null>>;

/** The basis of a login, or of a login's new token: a user who has proved who they are. */
export interface LoginProof {
  /** The user, as read when the proof was given. */
  readonly user: Authenticatable;
  /** The user's access epoch at that moment. */
  readonly accessEpoch: string;
  /**
   * Reads the user again, and reports whether access to the account is still the same, that is, has not ended since.
   */
  holds(): Promise<boolean>;
}

/** Two sets of conditions as one; `null` if no row can meet both. */
export function bothConditions(one: AccessConditions, other: AccessConditions): AccessConditions | null {
  const isMet = Object.entries(other).every(([column, value]) => !Object.hasOwn(one, column) || one[column] === value);
  return isMet ? { ...one, ...other } : null;
}

/**
 * The data about access to the account in the mixins of a user's model. With it, one statement can both check whether a
 * proof still holds and act on it.
 */
export interface AccessHolder extends Authenticatable {
  accessEpoch(): string;
  /** The values that the user's row must still have for a proof given with this model to be valid. */
  accessConditions(): AccessConditions;
  /** The columns that change when access to the account ends, with their new values. */
  accessChanges(): AccessConditions;
}

/**
 * Creates a new epoch: 128 random bits. It isn't a counter, so credentials of a deleted user never match a new user
 * with the same key.
 */
export function makeAccessEpoch(): string {
  return randomToken(EPOCH_BYTES);
}

/** The fingerprint that stands in for a user's epoch if none is stored: it changes whenever the epoch would. */
export function accessFingerprint(passwordHash: string | null, identifiers: readonly (string | null)[]): string {
  return digest(JSON.stringify([passwordHash, ...identifiers]));
}

/**
 * The access epoch of a user of any class. Logins, links in mails and pending steps carry it, and become invalid once
 * it differs.
 *
 * For a class without `accessEpoch`, it is a fingerprint of the password hash and of `email`, if there is one.
 *
 * Security: a blocked account doesn't have one. The function then returns a different text each time, so no login, link
 * or token is valid, and none can be created.
 */
export function accessEpochOf(user: Authenticatable): string {
  if (isBlocked(user)) return makeAccessEpoch();
  if (user.accessEpoch !== undefined) return user.accessEpoch();
  const { email } = user as { readonly email?: unknown };
  return accessFingerprint(user.passwordHash(), typeof email === "string" ? [email] : []);
}

/**
 * Reads a user again, unless access to the account has ended since: in the meantime, a login may have replaced the hash
 * with another one of the same password.
 *
 * @returns the user as stored now; `null` if access has ended, or the user no longer exists
 */
export async function readAgain(model: AuthenticatableClass, user: Authenticatable): Promise<Authenticatable | null> {
  const fresh = await model.findByAuthId(user.authId());
  return fresh !== null && accessEpochOf(fresh) === accessEpochOf(user) ? fresh : null;
}

/** The proof that a store of logins needs, based on a user as read when the proof was given. */
export function proofOf(model: AuthenticatableClass, user: Authenticatable): LoginProof {
  return {
    user,
    accessEpoch: accessEpochOf(user),
    holds: async () => (await readAgain(model, user)) !== null,
  };
}

/** Reports whether a user can express the basis of a proof as columns; the mixin `Authenticates` can. */
export function holdsAccess<U extends object>(user: U): user is U & AccessHolder {
  const { accessEpoch, accessConditions, accessChanges } = user as Partial<AccessHolder>;
  return [accessEpoch, accessConditions, accessChanges].every((method) => typeof method === "function");
}

/** The error for a proof that was valid when it was given, if the account has changed since. */
export function staleProof(): AshlarError {
  return new AshlarError("E_STALE_PROOF");
}
