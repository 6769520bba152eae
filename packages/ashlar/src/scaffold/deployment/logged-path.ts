/**
 * A segment that is shown in a log: words as routes have them, and numbers. It is too short for a token, and has none of the
 * capital letters and escapes that tokens have.
 */
const WORD = "(?:[a-z._-]{1,24}|[a-z0-9._-]{1,12})";
const IS_WORD = new RegExp(`^${WORD}$`);
const IS_PARAMETER = /^[@?]/;

/**
 * Returns the expression whose first group is the loggable part of a path, or of a path with its query: the part before
 * the query, and before the first segment that could be a secret. Since it describes harmless paths rather than those
 * with secrets, mistyped links aren't logged either, nor links that the author has added since.
 *
 * nginx and HAProxy read it (PCRE), and Caddy (RE2), so it does without lookarounds.
 *
 * @param secretPaths what paths begin with before a secret that may look like a word
 */
export function loggedPath(secretPaths: readonly string[]): string {
  const secret = [...new Set(secretPaths.map(expressionOf).filter((one) => one !== null))].toSorted();
  return `^(${[...secret, `/(?:${WORD}/)*(?:${WORD}?(?:\\?|$))?`].join("|")}).*$`;
}

/** The expression for the beginning of paths; `null` if these are never shown as far as that. */
function expressionOf(start: string): string | null {
  const segments = start.split("/").slice(1, -1);
  if (!segments.every((segment) => IS_PARAMETER.test(segment) || IS_WORD.test(segment))) return null;
  return `/${segments.map((one) => `${IS_PARAMETER.test(one) ? WORD : one.replaceAll(".", "\\.")}/`).join("")}`;
}
