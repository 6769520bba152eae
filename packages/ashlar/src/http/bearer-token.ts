/** The scheme in any case, spaces, and one `b64token` (RFC 6750 §2.1); a second value would need a comma, which is none of its characters. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * The token that an `Authorization` header carries (RFC 6750 §2.1).
 *
 * @param authorization the header's value, or `null` where there is none
 * @returns the token; `null` for any other scheme, for more than one value and for characters no token has
 */
export function parseBearerToken(authorization: string | null): string | null {
  if (authorization === null) return null;
  return BEARER.exec(authorization)?.[1] ?? null;
}
