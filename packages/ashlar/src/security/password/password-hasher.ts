/**
 * Turns passwords into what may be stored of them, and tells whether a password fits. `PASSWORDS.hasher` in
 * `config/auth.ts` is one: `argon2id()`, or your own. `passwordHasherSuite` of `ashlar/testing` tests what is promised
 * here.
 *
 * Security: a hasher promises that
 *
 * - two hashes of one password differ, and each holds all that `verify` needs;
 * - every character of the password counts: nothing is trimmed, folded or cut;
 * - `verify` takes as long if there is no hash as for a hash of today, and compares in constant time, so that the time of
 *   a login tells nothing;
 * - the work is done off the event loop.
 */
export interface PasswordHasher {
  /**
   * Makes a hash of a password.
   *
   * @param plain as it was typed
   * @returns text of at most 255 characters, which begins with the name of the algorithm between two dollar signs
   * @throws `E_INVALID_PASSWORD` if it cannot be hashed; `E_OVERLOADED` if too many wait already
   */
  hash(plain: string): Promise<string>;
  /**
   * Tells whether a hash was made of this password.
   *
   * @param hash as it is stored; `null` if there is no account, or none with a password. What is no hash that it knows
   * matches nothing
   * @param plain as it was typed
   * @throws `E_OVERLOADED`
   */
  verify(hash: string | null, plain: string): Promise<boolean>;
  /** Tells whether a hash was made otherwise than one would be now; the next login then replaces it. */
  needsRehash(hash: string): boolean;
}
