import "../errors.ts";

/**
 * Hashes passwords for storage, and verifies them. Set `PASSWORDS.hasher` in `config/auth.ts` to one: `argon2id()`, or
 * your own. `passwordHasherSuite` in `ashlar/testing` tests the requirements listed here.
 *
 * Security: a hasher must guarantee that
 *
 * - two hashes of one password differ, and each contains everything that `verify` needs;
 * - every character of the password counts: nothing is trimmed, folded or cut;
 * - `verify` takes as long without a hash as with a current one, and compares in constant time, so the duration of a
 *   login reveals nothing;
 * - the work is done off the event loop;
 * - if the work can't be done, because too many calls are waiting or a service cannot be reached, `hash` and `verify`
 *   throw.
 *
 * The framework passes passwords in NFC, and for older hashes also as typed, so a hasher must not normalize anything.
 * If your own code calls a hasher, pass it `plain.normalize("NFC")`.
 *
 * Your hasher also has to verify the hashes that are already stored. Pass those that `argon2id()` supports to it, and
 * return `true` from `needsRehash` if the next login should replace them.
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
   * Hashes a password.
   *
   * @param plain the password
   * @returns text of at most 255 characters, which begins with the algorithm's name between two dollar signs
   * @throws `E_INVALID_PASSWORD` if it is empty, or can't be hashed for another reason; `E_OVERLOADED` if too many
   *   calls are waiting
   */
  hash(plain: string): Promise<string>;
  /**
   * Reports whether a hash was created from this password.
   *
   * @param hash the stored hash; `null` if there is no account, or the account has no password. An unknown hash never
   *   matches
   * @param plain the password
   * @throws `E_OVERLOADED`
   */
  verify(hash: string | null, plain: string): Promise<boolean>;
  /** Reports whether a hash differs from those that `hash` currently creates. If so, the next login replaces it. */
  needsRehash(hash: string): boolean;
}
