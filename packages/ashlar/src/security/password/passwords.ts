import { argon2id } from "./argon2id.ts";
import type { PasswordHasher } from "./password-hasher.ts";

/** What hashes passwords unless the application names its own. */
export const DEFAULT_HASHER: PasswordHasher = argon2id();

/**
 * Hashes a password off the loop, with argon2id (RFC 9106): 19456 KiB, two passes, one lane, a salt of 16 random bytes.
 * `PASSWORDS.hasher` of `config/auth.ts` has no say in it.
 *
 * Security: it refuses what cannot be hashed, not what is easily guessed; a password that somebody chooses goes through
 * `checkPassword` first.
 *
 * @param plain as it was typed: nothing is trimmed, folded or cut
 * @returns a PHC string of 97 characters
 * @throws `E_INVALID_PASSWORD` where it is empty, longer than 1024 bytes or not well-formed; `E_OVERLOADED`;
 * `E_MISSING_PACKAGE`
 */
export function hashPassword(plain: string): Promise<string> {
  return DEFAULT_HASHER.hash(plain);
}

/**
 * Tells, off the loop, whether a password is the one that a hash was made of: Argon2 of any variant and of parameters up
 * to 256 MiB, 16 passes and 16 lanes, or bcrypt up to a cost of 14.
 *
 * A hash that is neither matches nothing, and takes as long as one that is.
 *
 * Security: bcrypt sees the first 72 bytes of a password and no more, and takes longer than `null` does, so that time tells
 * such an account from one that does not exist. Both end with the rehash that `needsRehash` asks for.
 *
 * @param hash as it is stored; `null` for an account that does not exist, or has no password: the work is done all the
 * same, and the answer is `false`
 * @param plain as it was typed
 * @throws `E_OVERLOADED`; `E_MISSING_PACKAGE`
 */
export function verifyPassword(hash: string | null, plain: string): Promise<boolean> {
  return DEFAULT_HASHER.verify(hash, plain);
}

/** Tells whether a hash was made otherwise than `hashPassword` would make it now, so that the next login should replace it. */
export function needsRehash(hash: string): boolean {
  return DEFAULT_HASHER.needsRehash(hash);
}
