/**
 * A segment that may be logged: a word that could be part of a route, or a number. It is too short for a token, and has no
 * capital letters or escapes, which tokens have.
 */
const WORD = "(?:[a-z._-]{1,24}|[a-z0-9._-]{1,12})";
const IS_WORD = new RegExp(`^${WORD}$`);
const IS_PARAMETER = /^[@?]/;

/**
 * Returns the expression whose first group is the loggable part of a path, or of a path with its query: the part before
 * the query, and before the first segment that could be a secret. It describes harmless paths rather than paths with secrets, so
 * that mistyped links, and links to routes that the author adds later, aren't logged either.
 *
 * nginx and HAProxy (PCRE) and Caddy (RE2) use it, so it has no lookarounds.
 *
 * @param secretPaths the beginnings of paths, up to a secret that may look like a word
 */
export function loggedPath(secretPaths: readonly string[]): string {
  const secret = [...new Set(secretPaths.map(expressionOf).filter((one) => one !== null))].toSorted();
  return `^(${[...secret, `/(?:${WORD}/)*(?:${WORD}?(?:\\?|$))?`].join("|")}).*$`;
}

/** The expression for the beginnings of paths; `null` if such paths are never logged up to that point. */
function expressionOf(start: string): string | null {
  const segments = start.split("/").slice(1, -1);
  if (!segments.every((segment) => IS_PARAMETER.test(segment) || IS_WORD.test(segment))) return null;
  return `/${segments.map((one) => `${IS_PARAMETER.test(one) ? WORD : one.replaceAll(".", "\\.")}/`).join("")}`;
}
