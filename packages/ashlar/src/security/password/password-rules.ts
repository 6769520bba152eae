import type { Message } from "../../support/index.ts";
import { isCommon } from "./common-passwords.ts";
import { message } from "./messages.ts";
import type { PasswordHasher } from "./password-hasher.ts";

/**
 * The maximum length of a password in any normal form, in UTF-16 code units: 1024 bytes are at most 1024 units, and at
 * most four times as many when decomposed.
 */
const MAX_LENGTH = 4096;

/**
 * Returns a password in the form that is checked and hashed: NFC (RFC 8265 §4.2.2). Keyboards and browsers differ in
 * how they enter some letters, such as `é`, or `e` followed by an accent, and people can't see the difference. Nothing
 * else is changed.
 */
export function normalizePassword(plain: string): string {
  // It is too long for a password, so don't spend time on it.
  return plain.length > MAX_LENGTH ? plain : plain.normalize("NFC");
}

/** The result of comparing a password with a hash. */
export interface PasswordMatch {
  readonly fits: boolean;
  /**
   * Whether the hash was created from the text as typed, which is not in normal form. It must then be replaced with a
   * new hash.
   */
  readonly isAsTyped: boolean;
}

/**
 * Compares a password with a hash, first in normal form. If it wasn't typed in normal form, compares the text as typed
 * too, because earlier versions and other software hashed that.
 *
 * Security: for a wrong password, the number of comparisons depends only on the typed text, and not on the account.
 *
 * @param hash as for {@link PasswordHasher.verify}
 * @throws `E_OVERLOADED`
 */
export async function matchPassword(
  hasher: PasswordHasher,
  hash: string | null,
  plain: string,
): Promise<PasswordMatch> {
  const normal = normalizePassword(plain);
  if (await hasher.verify(hash, normal)) return { fits: true, isAsTyped: false };
  const isAsTyped = normal !== plain && (await hasher.verify(hash, plain));
  return { fits: isAsTyped, isAsTyped };
}

const MIN_BYTES = 8;
const MAX_BYTES = 1024;

/** Reports whether a text can be hashed as a password, which takes 1 to 1024 bytes of well-formed Unicode. */
export function isHashable(plain: string): boolean {
  // All lone surrogates encode to the same bytes, so different passwords would match.
  return plain !== "" && plain.length <= MAX_BYTES && plain.isWellFormed() && Buffer.byteLength(plain) <= MAX_BYTES;
}

/**
 * Explains what is wrong with a password that a user chooses: in NFC, it must have 8 to 1024 bytes in UTF-8, and must
 * not be one of the most common passwords. There are no composition rules (NIST SP 800-63B §3.1.1.2).
 *
 * @param plain the password as typed: it is not trimmed, folded or cut
 * @returns a message for the user, or `null` if the password is acceptable
 */
export function checkPassword(plain: string): string | null {
  return passwordProblem(plain)?.message ?? null;
}

/** Like {@link checkPassword}, but returns a message that can be translated for the user. */
export function passwordProblem(typed: string): Message | null {
  const plain = normalizePassword(typed);
  if (plain.length > MAX_BYTES || Buffer.byteLength(plain) > MAX_BYTES) {
    return message("password.tooLong", { max: MAX_BYTES });
  }
  if (Buffer.byteLength(plain) < MIN_BYTES) return message("password.tooShort", { min: MIN_BYTES });
  if (!isHashable(plain)) return message("password.notUnicode");
  return isCommon(plain) ? message("password.common") : null;
}
