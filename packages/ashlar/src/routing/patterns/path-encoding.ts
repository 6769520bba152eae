import { AshlarError } from "../../support/index.ts";
import "../../http/index.ts";
import { message } from "../messages.ts";
import "../errors.ts";

const ESCAPE = /%([0-9A-Fa-f]{2})/g;
/** Characters that need no escape in a path (RFC 3986 §3.3); everything else is escaped. */
const UNUSUAL = /[^\w/.~!$&'()*+,;=:@-]/;
const UNESCAPED = /[^\w%/.~!$&'()*+,;=:@-]+/g;
/**
 * Escapes of characters that no parameter's value contains, in UTF-8. The control characters are U+0000 to U+001F and
 * U+007F to U+009F.
 */
const REFUSED_ESCAPE = /%(?:2F|5C|[01][\dA-F]|7F|C2%[89][\dA-F])/i;
const REFUSED_TEXT = /[/\\\p{Cc}]/u;
const DOT_SEGMENT = /\/\.{1,2}(?:\/|$)/;

/** Reports whether a path contains escapes, or characters that should be escaped. */
export function isUnusual(path: string): boolean {
  return UNUSUAL.test(path);
}

/**
 * Returns a path in normal form (RFC 3986 §6.2.2.1): `%c3` and `%C3` are the same, and so are `[` and `%5B`, which
 * clients use interchangeably.
 *
 * @throws `E_BAD_REQUEST` if an escape is malformed, is not UTF-8, or stands for NUL, which not every database accepts
 */
export function normalizeEscapes(path: string): string {
  const text = decodeText(path);
  if (text === null || text.includes("\0") || !path.isWellFormed()) {
    throw new AshlarError("E_BAD_REQUEST", message("routing.path"));
  }
  return escapeAsNeeded(path);
}

/** Removes unnecessary escapes from a path: those of letters, digits, `-`, `.`, `_` and `~` (RFC 3986 §6.2.2.2). */
export function decodeUnreserved(path: string): string {
  return path.replace(ESCAPE, (escaped, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return /[\w.~-]/.test(character) ? character : escaped;
  });
}

/** Decodes text, or returns `null` if an escape is malformed. */
export function decodeText(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/**
 * Decodes a segment of a path in normal form, or returns `null` if an escape is malformed, or stands for a character
 * that no parameter's value contains: a slash, a backslash or a control character.
 *
 * Security: otherwise, `../` or a line break could get into a file name, header or URL that a handler creates from the
 * value.
 */
export function decodeSegment(segment: string): string | null {
  return REFUSED_ESCAPE.test(segment) ? null : decodeText(segment);
}

/** Returns a value as a path segment, or `null` if no request could contain it there. */
export function encodeSegment(value: string): string | null {
  if (value === "" || value === "." || value === ".." || REFUSED_TEXT.test(value) || !value.isWellFormed()) return null;
  return encodeURIComponent(value);
}

/** Reports whether a path has a segment `.` or `..`, which clients resolve before they send a request. */
export function hasDotSegment(path: string): boolean {
  return path.includes("/.") && DOT_SEGMENT.test(path);
}

/**
 * Returns literal text of a pattern as it appears in a request's normalized path.
 *
 * @throws `E_INVALID_ROUTE` if no request's path could contain it
 */
export function encodeLiteral(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters.
  const foreign = /[?#\\\x00-\x1f\x7f]/.exec(text);
  if (foreign !== null) {
    throw new AshlarError("E_INVALID_ROUTE", `${JSON.stringify(foreign[0])} is not allowed in the segment "${text}".`);
  }
  if (decodeText(text) === null || !text.isWellFormed()) {
    throw new AshlarError("E_INVALID_ROUTE", `"${text}" is not encoded correctly; write a percent sign as %25.`);
  }
  const plain = decodeUnreserved(escapeAsNeeded(text));
  if (plain === "." || plain === "..") {
    throw new AshlarError(
      "E_INVALID_ROUTE",
      `"${text}" is not a segment; clients resolve it before they send a request.`,
    );
  }
  return plain;
}

function escapeAsNeeded(text: string): string {
  return text.replace(ESCAPE, (escaped) => escaped.toUpperCase()).replace(UNESCAPED, encodeURIComponent);
}
