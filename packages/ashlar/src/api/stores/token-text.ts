import { randomBytes } from "node:crypto";

/** Digits of base 62, in the order of their values. */
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** These are 178 bits. */
const RANDOM_LENGTH = 30;
/** This is enough for 32 bits. */
const CHECKSUM_LENGTH = 6;
/** The greatest multiple of 62 in a byte. Larger bytes would make some digits more likely than others. */
const FAIR_BYTES = 248;

const MAX_NAME_LENGTH = 100;
/** Characters that break a line of a mail or a log. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

const BODY = new RegExp(`^[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/**
 * Creates the text of a personal token: the prefix, 30 random characters of base 62, and 6 with a checksum.
 *
 * @param prefix the beginning, which secret scanners look for
 */
export function makeTokenText(prefix: string): string {
  const text = prefix + randomDigits(RANDOM_LENGTH);
  return text + checksumOf(text);
}

/**
 * Reports whether a text that begins with the prefix has the form of a personal token and the right checksum. A
 * truncated or mistyped token fails this check, so it needs no query.
 */
export function isTokenText(text: string, prefix: string): boolean {
  if (!text.startsWith(prefix) || !BODY.test(text.slice(prefix.length))) return false;
  return checksumOf(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);
}

/** Reports whether a text can be the name of a token: 1 to 100 characters that aren't blank, in one line. */
export function isTokenName(name: string): boolean {
  return name.trim() !== "" && name.length <= MAX_NAME_LENGTH && name.isWellFormed() && !CONTROL.test(name);
}

/** The CRC-32 of everything before it (ISO 3309, as in gzip), in base 62, with leading zeros. */
function checksumOf(text: string): string {
  let rest = process.getBuiltinModule("node:zlib").crc32(text);
  let digits = "";
  while (digits.length < CHECKSUM_LENGTH) {
    digits = DIGITS[rest % DIGITS.length] + digits;
    rest = Math.floor(rest / DIGITS.length);
  }
  return digits;
}

function randomDigits(count: number): string {
  let digits = "";
  while (digits.length < count) {
    for (const byte of randomBytes(count - digits.length)) {
      if (byte < FAIR_BYTES) digits += DIGITS[byte % DIGITS.length];
    }
  }
  return digits;
}
