/**
 * A segment that may be logged: a word that could be part of a route, or a number. It is too short for a token, and
 * contains no capital letters or escapes, unlike tokens.
 */
const WORD = "(?:[a-z._-]{1,24}|[a-z0-9._-]{1,12})";
const IS_WORD = new RegExp(`^${WORD}$`);
const IS_PARAMETER = /^[@?]/;

/**
 * Returns an expression whose first group captures the part of a path, or of a path with a query, that may be logged:
 * the part before the query, and before the first segment that could be a secret. It matches harmless paths instead of
 * paths with secrets, so that secrets in mistyped links, and in links to routes that the author adds later, aren't
 * logged either.
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
