import { nowInSeconds } from "../../support/index.ts";
import { brokenRule, hasClaimTypes, type JwtClaims } from "./claims.ts";
import { openJws } from "./compact.ts";
import { JwtError } from "./errors.ts";
import { parseObjectSegment } from "./json.ts";
import type { VerificationKey } from "./keys.ts";
import { checkVerifyOptions, hasExpectedTyp, type JwtVerifyOptions, maxBytesOf } from "./verify-options.ts";

const NO_OPTIONS: JwtVerifyOptions = Object.freeze({});

/**
 * Verifies a JWT (RFC 7519 §7.2) and returns the outcome instead of throwing, for use on the request path.
 *
 * Size, shape, header and algorithm come first, then the signature. Only then are the claims read: their types, then
 * subject, issuer, audience, and finally the times.
 *
 * @param token the value that the caller presented, of any type
 * @param keys one key, or several during a key rotation: any of them may have signed
 * @returns the claims of a valid token, or why it was refused
 * @throws `E_JWT_KEY`, `E_INVALID_CONFIGURATION` if the keys or options cannot be used; never because of the token
 */
export function tryVerifyJwt(
  token: string,
  keys: VerificationKey | readonly VerificationKey[],
  options: JwtVerifyOptions = NO_OPTIONS,
): { readonly claims: JwtClaims } | { readonly failure: JwtError["reason"] } {
  checkVerifyOptions(options);
  const opened = openJws(token, keys, maxBytesOf(options));
  if (typeof opened === "string") return { failure: opened };
  if (!hasExpectedTyp(opened.header.typ, options)) return { failure: "type" };
  const claims = parseObjectSegment(opened.payload);
  if (claims === null) return { failure: "malformed" };
  if (!hasClaimTypes(claims)) return { failure: "claims" };
  const failure = brokenRule(claims, options, options.clock === undefined ? nowInSeconds() : options.clock());
  return failure === null ? { claims } : { failure };
}

/**
 * Verifies a JWT (RFC 7519 §7.2) like {@link tryVerifyJwt}, but throws.
 *
 * ```ts
 * const claims = verifyJwt(token, new VerificationKey("HS512", secret), { issuer: "https://shop.example" });
 * ```
 *
 * @throws {@link JwtError} (`E_JWT_INVALID`) if the token is not valid; `E_JWT_KEY`, `E_INVALID_CONFIGURATION` if the
 *   keys or options cannot be used
 */
export function verifyJwt(
  token: string,
  keys: VerificationKey | readonly VerificationKey[],
  options: JwtVerifyOptions = NO_OPTIONS,
): JwtClaims {
  const outcome = tryVerifyJwt(token, keys, options);
  if ("failure" in outcome) throw new JwtError(outcome.failure);
  return outcome.claims;
}
