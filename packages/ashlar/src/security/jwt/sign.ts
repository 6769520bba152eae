import { AshlarError, nowInSeconds } from "../../support/index.ts";
import { encodeBase64url, objectSegment, parseObjectSegment, requirePlainObject } from "./encoding.ts";
import type { SigningKey } from "./keys.ts";
import { hasClaimTypes, type JwtClaims } from "./verify.ts";
import "./errors.ts";

/** Members of a protected header other than `alg`, which the key determines. */
export interface JwsHeaderMembers {
  /** The type of the whole JWS (RFC 7515 §4.1.9). */
  readonly typ?: string;
  /** The type of the payload, if it is not a set of claims (RFC 7515 §4.1.10). */
  readonly cty?: string;
  /** The name of the key, for other verifiers (RFC 7515 §4.1.4). */
  readonly kid?: string;
  readonly [name: string]: unknown;
}

/** Members that verification refuses, and `alg`, which the caller must not choose. */
const FORBIDDEN_MEMBERS: readonly string[] = ["alg", "crit", "b64", "__proto__"];

/**
 * Signs any payload: a compact JWS (RFC 7515 §3.1).
 *
 * Security: the payload is signed, not encrypted; anyone who sees the token can read it.
 *
 * @param payload bytes, or text to be encoded as UTF-8
 * @param header members of the protected header other than `alg`
 * @throws `E_JWT_CLAIMS` if the header contains `alg`, `crit` or `b64`, or cannot be written as JSON
 */
export function signJws(payload: string | Uint8Array, key: SigningKey, header: JwsHeaderMembers = {}): string {
  requirePlainObject(header, "header");
  for (const name of FORBIDDEN_MEMBERS) {
    if (Object.hasOwn(header, name)) throw new AshlarError("E_JWT_CLAIMS", `The header cannot contain "${name}".`);
  }
  const segment = objectSegment({ alg: key.algorithm, ...header }, "header");
  return signSegments(segment, encodeBase64url(payload), key);
}

/** Signs a header and a payload that are already encoded. */
export function signSegments(header: string, payload: string, key: SigningKey): string {
  const input = `${header}.${payload}`;
  return `${input}.${key.sign(input)}`;
}

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
  // Check the encoded claims, in which NaN has become null, and a Date a string.
  const read = parseObjectSegment(payload);
  if (read === null || !hasClaimTypes(read)) {
    throw new AshlarError("E_JWT_CLAIMS", 'A registered claim has the wrong type, or a member is named "__proto__".');
  }
  if (options.typ === undefined) return signSegments(key.jwtHeader, payload, key);
  const named = key.kid === null ? {} : { kid: key.kid };
  const header = objectSegment({ alg: key.algorithm, typ: options.typ, ...named }, "header");
  return signSegments(header, payload, key);
}
