import { digest, randomToken } from "../security/index.ts";
import { AshlarError } from "../support/index.ts";
import type { Authenticatable, AuthenticatableClass } from "./authenticatable.ts";
import type { LoginProof } from "./logins/login-store.ts";
import "./errors.ts";

const EPOCH_BYTES = 16;

/** What columns of a user's row must hold for a proof to be good still. `null` stands for a column that is empty. */
export type AccessConditions = Readonly<Record<string, string | null>>;

/**
 * What the mixins of a user's model say about access to the account, so that one statement can both ask whether a proof
 * still holds and do what was proved.
 */
export interface AccessHolder extends Authenticatable {
  accessEpoch(): string;
  /** What the user's row must still hold for a proof given against this model to be good. */
  accessConditions(): AccessConditions;
  /** The columns that change when access to the account ends, with their new values. */
  accessChanges(): AccessConditions;
}

/**
 * A user with credentials besides logins that end with the access to the account, such as an API token. The mixins that
 * give users such credentials implement it, each of them calling the one it extends.
 */
export interface CredentialHolder {
  /** Takes the credentials away, as far as the user has some. As part of the transaction that is under way. */
  endCredentials(): Promise<void>;
}

/** Takes away what credentials a user has besides logins. */
export async function endCredentials(user: object): Promise<void> {
  await (user as Partial<CredentialHolder>).endCredentials?.();
}

/**
 * A new epoch: 128 random bits. It is not a counter, so that a user who was deleted and whose key was given to another
 * leaves nothing behind that matches.
 */
export function makeAccessEpoch(): string {
  return randomToken(EPOCH_BYTES);
}

/** What stands for a user's epoch where none is stored: a fingerprint of what would change it. */
export function accessFingerprint(passwordHash: string | null, identifiers: readonly (string | null)[]): string {
  return digest(JSON.stringify([passwordHash, ...identifiers]));
}

/**
 * The epoch of a user of any class. Logins, links in mails and pending steps carry it, and are void once it differs.
 *
 * A class without `accessEpoch` has a fingerprint of the password hash and of its `email`, where it has one.
 */
export function accessEpochOf(user: Authenticatable): string {
  if (user.accessEpoch !== undefined) return user.accessEpoch();
  const { email } = user as { readonly email?: unknown };
  return accessFingerprint(user.passwordHash(), typeof email === "string" ? [email] : []);
}

/**
 * Reads a user again, if access to the account has not ended since: a login may have replaced the hash by another one of
 * the same password meanwhile.
 *
 * @returns the user as stored now; `null` if access has ended, or the user is gone
 */
export async function readAgain(model: AuthenticatableClass, user: Authenticatable): Promise<Authenticatable | null> {
  const fresh = await model.findByAuthId(user.authId());
  return fresh !== null && accessEpochOf(fresh) === accessEpochOf(user) ? fresh : null;
}

/** What is proved by a user who was read with it, for a store of logins. */
export function proofOf(model: AuthenticatableClass, user: Authenticatable): LoginProof {
  return {
    user,
    accessEpoch: accessEpochOf(user),
    holds: async () => (await readAgain(model, user)) !== null,
  };
}

/** Tells whether a user can say on what a proof rests in terms of columns; the mixin `Authenticates` can. */
export function holdsAccess<U extends object>(user: U): user is U & AccessHolder {
  const { accessEpoch, accessConditions, accessChanges } = user as Partial<AccessHolder>;
  return [accessEpoch, accessConditions, accessChanges].every((method) => typeof method === "function");
}

/** What is thrown where a proof was good when it was given, and the account has changed since. */
export function staleProof(): AshlarError {
  return new AshlarError("E_STALE_PROOF");
}
