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
 *
 * Hashes that are stored already are yours to verify: hand those of Argon2 to `argon2id()`, and say in `needsRehash` that
 * the next login is to replace them.
 *
 * ```ts
 * import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
 * import { promisify } from "node:util";
 * import { AshlarError } from "ashlar";
 * import { argon2id, type PasswordHasher } from "ashlar/security";
 *
 * const hash = promisify<string, Buffer, number, Buffer>(scrypt);
 *
 * class ScryptHasher implements PasswordHasher {
 *   readonly #before = argon2id();
 *
 *   async hash(plain: string): Promise<string> {
 *     if (plain === "") throw new AshlarError("E_INVALID_PASSWORD");
 *     const salt = randomBytes(16);
 *     return `$scrypt$${salt.toString("hex")}$${(await hash(plain, salt, 32)).toString("hex")}`;
 *   }
 *
 *   async verify(stored: string | null, plain: string): Promise<boolean> {
 *     if (stored?.startsWith("$argon2")) return this.#before.verify(stored, plain);
 *     const [, salt, tag] = /^\$scrypt\$([\da-f]{32})\$([\da-f]{64})$/.exec(stored ?? "") ?? [];
 *     const made = await hash(plain, Buffer.from(salt ?? "", "hex"), 32);
 *     return tag !== undefined && timingSafeEqual(made, Buffer.from(tag, "hex"));
 *   }
 *
 *   needsRehash(stored: string): boolean {
 *     return !stored.startsWith("$scrypt$");
 *   }
 * }
 * ```
 */
export interface PasswordHasher {
  /**
   * Makes a hash of a password.
   *
   * @param plain as it was typed
   * @returns text of at most 255 characters, which begins with the name of the algorithm between two dollar signs
   * @throws `E_INVALID_PASSWORD` if it is empty, or cannot be hashed otherwise; `E_OVERLOADED` if too many wait already
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
