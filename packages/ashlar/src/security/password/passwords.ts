import { hashesAtOnce, PasswordHasher } from "./password-hasher.ts";

/** One for the whole process, because the threads that it shares out belong to the process. */
let hasher = new PasswordHasher();
let concurrency = hashesAtOnce();

/**
 * Says how many threads libuv's pool has, so that on a machine with many cores as many of them hash as can. Called when an
 * application boots.
 *
 * @internal
 * @param poolThreads what `UV_THREADPOOL_SIZE` was when the process began, or 4
 */
export function useThreadPool(poolThreads: number): void {
  const wanted = hashesAtOnce(poolThreads);
  if (wanted === concurrency) return;
  concurrency = wanted;
  hasher = new PasswordHasher({ concurrency });
}

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
