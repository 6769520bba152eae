import { PasswordHasher } from "./password-hasher.ts";

/** One for the whole process, because the threads that it shares out belong to the process. */
const hasher = new PasswordHasher();

/**
 * Hashes a password with argon2id; see {@link PasswordHasher.hash}.
 *
 * @throws `E_INVALID_PASSWORD`, `E_OVERLOADED`, `E_MISSING_PACKAGE`
 */
export function hashPassword(plain: string): Promise<string> {
  return hasher.hash(plain);
}

/**
 * Tells whether a password is the one that a hash was made of; see {@link PasswordHasher.verify}.
 *
 * @throws `E_OVERLOADED`, `E_MISSING_PACKAGE`
 */
export function verifyPassword(hash: string, plain: string): Promise<boolean> {
  return hasher.verify(hash, plain);
}

/**
 * Takes as long as {@link verifyPassword} and answers `false`, for accounts that do not exist; see
 * {@link PasswordHasher.verifyDummy}.
 *
 * @throws `E_OVERLOADED`, `E_MISSING_PACKAGE`
 */
export function verifyDummy(plain: string): Promise<false> {
  return hasher.verifyDummy(plain);
}
