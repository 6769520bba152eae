import { argon2id } from "./argon2id.ts";
import type { PasswordHasher } from "./password-hasher.ts";
import { matchPassword, normalizePassword } from "./password-rules.ts";

/** Hashes passwords unless the application sets its own hasher. */
export const DEFAULT_HASHER: PasswordHasher = argon2id();

/**
 * Hashes a password off the event loop, with argon2id (RFC 9106): 19456 KiB, two passes, one lane, a salt of 16 random
 * bytes. It ignores `PASSWORDS.hasher` in `config/auth.ts`.
 *
 * Security: it refuses only passwords that can't be hashed, not those that are easily guessed. Check passwords that
 * users choose with `checkPassword` first.
 *
 * @param plain the password as typed: it is normalized (NFC), but not trimmed, folded or cut
 * @returns a PHC string of 97 characters
 * @throws `E_INVALID_PASSWORD` if it is empty, longer than 1024 bytes or not well-formed; `E_OVERLOADED`;
 *   `E_MISSING_PACKAGE`
 */
export function hashPassword(plain: string): Promise<string> {
  return DEFAULT_HASHER.hash(normalizePassword(plain));
}

/**
 * Reports whether a hash was created from a password. Works off the event loop. Supports Argon2 of any variant with
 * parameters up to 256 MiB, 16 passes and 16 lanes, bcrypt up to a cost of 14, and scrypt and PBKDF2 as described in
 * `argon2id`.
 *
 * A hash of any other kind never matches, and takes as long as a supported one. A password that was not typed in NFC is
 * also compared as typed, for hashes that were created without normalization.
 *
 * Security: bcrypt uses only the first 72 bytes of a password. Hashes by other software don't take the same time as
 * `null`, so response times distinguish such an account from one that does not exist. Both issues disappear with the
 * rehash that `needsRehash` requests.
 *
 * @param hash the stored hash; `null` for an account that does not exist or has no password: the work is done anyway,
 * and the result is `false`
 * @param plain the password as typed
 * @throws `E_OVERLOADED`; `E_MISSING_PACKAGE`
 */
export async function verifyPassword(hash: string | null, plain: string): Promise<boolean> {
  return (await matchPassword(DEFAULT_HASHER, hash, plain)).fits;
}

/**
 * Reports whether a hash differs from those that `hashPassword` currently creates, so that the next login should
 * replace it.
 */
export function needsRehash(hash: string): boolean {
  return DEFAULT_HASHER.needsRehash(hash);
}
