import { AshlarError, nowInSeconds } from "../../support/index.ts";
import { hasClaimTypes, type JwtClaims } from "./claims.ts";
import { objectSegment, parseObjectSegment, requirePlainObject } from "./json.ts";
import type { SigningKey } from "./keys.ts";
import { signSegments } from "./sign-jws.ts";
import "./errors.ts";

/** Options for signing a token. */
export interface JwtSignOptions {
  /** The header's `typ`; default: `JWT`. */
  readonly typ?: string;
  /** The current time in seconds, for `iat`; default: taken from the clock. */
  readonly now?: number;
}

/**
 * Signs claims: a JWT (RFC 7519) with the header `{"alg":…,"typ":"JWT"}`, and with the key's `kid` if it is a private
 * key. Adds `iat` if the claims lack it.
 *
 * ```ts
 * const token = signJwt({ sub: "42", exp: Math.floor(Date.now() / 1000) + 3600 }, new SigningKey("HS512", secret));
 * ```
 *
 * Security: the claims are signed, not encrypted; anyone who sees the token can read them.
 *
 * @throws `E_JWT_CLAIMS` if the claims are not a plain object, or a registered claim has a type that no verifier accepts
 */
export function signJwt(claims: JwtClaims, key: SigningKey, options: JwtSignOptions = {}): string {
  requirePlainObject(claims, "claims");
  const dated = claims.iat === undefined ? { ...claims, iat: options.now ?? nowInSeconds() } : claims;
  const payload = objectSegment(dated, "claims");
  // Check what a verifier will read: by now NaN has become null, and a Date text.
  const read = parseObjectSegment(payload);
  if (read === null || !hasClaimTypes(read)) {
    throw new AshlarError("E_JWT_CLAIMS", 'A registered claim has the wrong type, or a member is named "__proto__".');
  }
  if (options.typ === undefined) return signSegments(key.jwtHeader, payload, key);
  const named = key.kid === null ? {} : { kid: key.kid };
  const header = objectSegment({ alg: key.algorithm, typ: options.typ, ...named }, "header");
  return signSegments(header, payload, key);
}
