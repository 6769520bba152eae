/** The scheme in any case, spaces, and one `b64token` (RFC 6750 §2.1). A second value would need a comma, which is not allowed. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * Returns the token in an `Authorization` header (RFC 6750 §2.1).
 *
 * @param authorization the header's value, or `null` if it is missing
 * @returns the token; `null` for any other scheme, for more than one value and for characters not allowed in tokens
 */
export function parseBearerToken(authorization: string | null): string | null {
  if (authorization === null) return null;
  return BEARER.exec(authorization)?.[1] ?? null;
}
