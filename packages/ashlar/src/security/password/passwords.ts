import { AshlarError } from "../../support/index.ts";
import { HashingThreads } from "./hashing-threads.ts";
import { isHashable } from "./password-rules.ts";

/** One set for the whole process, whose cores they share. */
const threads = new HashingThreads();

/** What no password is hashed to, and no program ever stores. */
const NO_HASH = "";

/**
 * Hashes a password off the loop, with argon2id (RFC 9106): 19456 KiB, two passes, one lane, a salt of 16 random bytes.
 *
 * Security: it refuses what cannot be hashed, not what is easily guessed; a password that somebody chooses goes through
 * `checkPassword` first.
 *
 * @param plain as it was typed: nothing is trimmed, folded or cut
 * @returns a PHC string of 97 characters
 * @throws `E_INVALID_PASSWORD` where it is empty, longer than 1024 bytes or not well-formed; `E_OVERLOADED`;
 * `E_MISSING_PACKAGE`
 */
export async function hashPassword(plain: string): Promise<string> {
  if (!isHashable(plain)) throw new AshlarError("E_INVALID_PASSWORD");
  return threads.run({ hash: null, plain }) as Promise<string>;
}

/**
 * Tells, off the loop, whether a password is the one that a hash was made of: Argon2 of any variant and of parameters up
 * to 256 MiB, 16 passes and 16 lanes, or bcrypt up to a cost of 14.
 *
 * A hash that is neither matches nothing, and takes as long as one that is.
 *
 * Security: bcrypt sees the first 72 bytes of a password and no more, and takes longer than {@link verifyDummy}, so that
 * time tells such an account from one that does not exist. Both end with the rehash that `needsRehash` asks for.
 *
 * @param hash as it is stored
 * @param plain as it was typed
 * @throws `E_OVERLOADED`; `E_MISSING_PACKAGE`
 */
export async function verifyPassword(hash: string, plain: string): Promise<boolean> {
  return isHashable(plain) && (threads.run({ hash, plain }) as Promise<boolean>);
}

/**
 * Does the work of verifying a password against a hash made here, and answers `false`: for accounts that do not exist,
 * so that the time taken does not tell them from those that do.
 *
 * @throws `E_OVERLOADED`; `E_MISSING_PACKAGE`
 */
export function verifyDummy(plain: string): Promise<false> {
  // As it is: a promise of its own would be a step more than for an account.
  return verifyPassword(NO_HASH, plain) as Promise<false>;
}
