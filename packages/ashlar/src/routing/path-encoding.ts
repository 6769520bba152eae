import { AshlarError } from "../support/index.ts";

const ESCAPE = /%([0-9A-Fa-f]{2})/g;
/** What stands in a path as it is (RFC 3986 §3.3); everything else is escaped. */
const UNUSUAL = /[^\w/.~!$&'()*+,;=:@-]/;
const UNESCAPED = /[^\w%/.~!$&'()*+,;=:@-]+/g;
const DOT_SEGMENT = /\/\.{1,2}(?:\/|$)/;

/** Whether a path holds escapes, or characters that should have been escaped. */
export function isUnusual(path: string): boolean {
  return UNUSUAL.test(path);
}

/**
 * A path in normal form (RFC 3986 §6.2.2.1): `%c3` and `%C3` are the same, and so are `[` and `%5B`, of which some
 * clients send the one and some the other.
 *
 * @throws `E_BAD_REQUEST` where an escape is broken, is not UTF-8, or is that of NUL, which no database takes
 */
export function normalizeEscapes(path: string): string {
  const text = decodeText(path);
  if (text === null || text.includes("\0") || !path.isWellFormed()) {
    throw new AshlarError("E_BAD_REQUEST", "The path of the request is not encoded as it should be.");
  }
  return escapeAsNeeded(path);
}

/** A path without needless escapes: those of letters, digits, `-`, `.`, `_` and `~` (RFC 3986 §6.2.2.2). */
export function decodeUnreserved(path: string): string {
  return path.replace(ESCAPE, (escaped, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return /[\w.~-]/.test(character) ? character : escaped;
  });
}

/** Text without its escapes, or `null` where one is broken. */
export function decodeText(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** One value as a segment of a path, or `null` where no segment can carry it and bring it back as it was. */
export function encodeSegment(value: string): string | null {
  if (value === "" || value === "." || value === ".." || value.includes("\0") || !value.isWellFormed()) return null;
  return encodeURIComponent(value);
}

/** Whether a path has a segment `.` or `..`, which a client resolves before it asks. */
export function hasDotSegment(path: string): boolean {
  return path.includes("/.") && DOT_SEGMENT.test(path);
}

/**
 * Literal text of a pattern as it stands in the path of a request in normal form.
 *
 * @throws `E_INVALID_ROUTE` where no request could have it in its path
 */
export function encodeLiteral(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  const foreign = /[?#\\\x00-\x1f\x7f]/.exec(text);
  if (foreign !== null) {
    throw new AshlarError("E_INVALID_ROUTE", `${JSON.stringify(foreign[0])} cannot stand in the segment "${text}".`);
  }
  if (decodeText(text) === null || !text.isWellFormed()) {
    throw new AshlarError(
      "E_INVALID_ROUTE",
      `"${text}" is not encoded as it should be; a percent sign is written %25.`,
    );
  }
  const plain = decodeUnreserved(escapeAsNeeded(text));
  if (plain === "." || plain === "..") {
    throw new AshlarError("E_INVALID_ROUTE", `"${text}" is not a segment; clients resolve it before they ask.`);
  }
  return plain;
}

function escapeAsNeeded(text: string): string {
  return text.replace(ESCAPE, (escaped) => escaped.toUpperCase()).replace(UNESCAPED, encodeURIComponent);
}
