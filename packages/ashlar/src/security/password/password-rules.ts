import type { Message } from "../../support/index.ts";
import { commonPasswords } from "./common-passwords.ts";
import { message } from "./messages.ts";
import { normalizePassword } from "./password-match.ts";

const MIN_BYTES = 8;
const MAX_BYTES = 1024;

function isCommon(plain: string): boolean {
  // Only the lookup ignores case: `Password1` is guessed as early as `password1`.
  const text = plain.toLowerCase();
  const { passwords, words, endings } = commonPasswords();
  if (passwords.has(text) || words.has(text)) return true;
  const half = text.slice(0, text.length / 2);
  if (text === half + half && words.has(half)) return true;
  if (endings.some((ending) => text.endsWith(ending) && words.has(text.slice(0, -ending.length)))) return true;
  // A single repeated character is as common as any of them, however long it is.
  return new Set(text).size === 1;
}

/** Reports whether a text can be hashed as a password at all: 1 to 1024 bytes of well-formed Unicode. */
export function isHashable(plain: string): boolean {
  // All lone surrogates encode to the same bytes, so different passwords would be equal.
  return plain !== "" && plain.length <= MAX_BYTES && plain.isWellFormed() && Buffer.byteLength(plain) <= MAX_BYTES;
}

/**
 * Explains what is wrong with a password that a user chooses: in NFC, it must have 8 to 1024 bytes in UTF-8 and not be
 * among the most common. There are no composition rules (NIST SP 800-63B §3.1.1.2).
 *
 * @param plain the password as typed: it is not trimmed, folded or cut
 * @returns a message for the user, or `null` if the password is acceptable
 */
export function checkPassword(plain: string): string | null {
  return passwordProblem(plain)?.message ?? null;
}

/** Does the same, in a form that can be translated for the user. */
export function passwordProblem(typed: string): Message | null {
  const plain = normalizePassword(typed);
  if (plain.length > MAX_BYTES || Buffer.byteLength(plain) > MAX_BYTES) {
    return message("password.tooLong", { max: MAX_BYTES });
  }
  if (Buffer.byteLength(plain) < MIN_BYTES) return message("password.tooShort", { min: MIN_BYTES });
  if (!isHashable(plain)) return message("password.notUnicode");
  return isCommon(plain) ? message("password.common") : null;
}
