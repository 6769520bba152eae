import { commonPasswords } from "./common-passwords.ts";

const MIN_BYTES = 8;
const MAX_BYTES = 1024;

function isCommon(plain: string): boolean {
  // Only the look-up is blind to case: `Password1` is guessed as early as `password1`.
  const text = plain.toLowerCase();
  const { passwords, words, endings } = commonPasswords();
  if (passwords.has(text) || words.has(text)) return true;
  const half = text.slice(0, text.length / 2);
  if (text === half + half && words.has(half)) return true;
  if (endings.some((ending) => text.endsWith(ending) && words.has(text.slice(0, -ending.length)))) return true;
  // One character again and again is as common as any of them, however long.
  return new Set(text).size === 1;
}

/** Tells whether a text can be hashed as a password at all: 1 to 1024 bytes of well-formed Unicode. */
export function isHashable(plain: string): boolean {
  // Lone surrogates all become the same bytes, so that many passwords would be one.
  return plain !== "" && plain.length <= MAX_BYTES && plain.isWellFormed() && Buffer.byteLength(plain) <= MAX_BYTES;
}

/**
 * Says what is wrong with a password that somebody chooses: 8 to 1024 bytes in UTF-8, and none of the commonest. What
 * it is composed of is nobody's business (NIST SP 800-63B §3.1.1.2).
 *
 * @param plain as it was typed: nothing is trimmed, folded or cut
 * @returns a sentence for whoever chose it, or `null` where nothing is wrong
 */
export function checkPassword(plain: string): string | null {
  if (plain.length > MAX_BYTES || Buffer.byteLength(plain) > MAX_BYTES) {
    return `The password is too long; at most ${MAX_BYTES} bytes can be used.`;
  }
  if (Buffer.byteLength(plain) < MIN_BYTES) return `The password is too short; use at least ${MIN_BYTES} characters.`;
  if (!isHashable(plain)) return "The password holds a character that is not valid Unicode.";
  if (isCommon(plain)) return "This is one of the most used passwords and would be guessed at once; choose another.";
  return null;
}
