import type { JwtFailure } from "./errors.ts";
import type { JwtVerifyOptions } from "./verify.ts";

/** The claims of a token (RFC 7519 §4). Times are NumericDates: seconds since the epoch. */
export interface JwtClaims {
  /** Who issued the token. */
  readonly iss?: string;
  /** Who the token is about. */
  readonly sub?: string;
  /** Who the token is intended for. */
  readonly aud?: string | readonly string[];
  /** The time from which the token is no longer valid. */
  readonly exp?: number;
  /** The time before which the token is not yet valid. */
  readonly nbf?: number;
  /** When the token was issued. */
  readonly iat?: number;
  /** The token's unique identifier. */
  readonly jti?: string;
  readonly [name: string]: unknown;
}

/**
 * Reports whether the registered claims that are present have the types of RFC 7519 §4.1.
 *
 * Presence matters, not truthiness: `exp: 0` is a time, and `exp: null` does not count as missing.
 */
export function hasClaimTypes(claims: Readonly<Record<string, unknown>>): claims is JwtClaims {
  return (
    (claims.exp === undefined || Number.isFinite(claims.exp)) &&
    (claims.iat === undefined || Number.isFinite(claims.iat)) &&
    (claims.nbf === undefined || Number.isFinite(claims.nbf)) &&
    (claims.sub === undefined || typeof claims.sub === "string") &&
    (claims.jti === undefined || typeof claims.jti === "string") &&
    (claims.iss === undefined || typeof claims.iss === "string") &&
    (claims.aud === undefined || isAudience(claims.aud))
  );
}

function isAudience(value: unknown): boolean {
  return typeof value === "string" || (Array.isArray(value) && value.every((one) => typeof one === "string"));
}

/**
 * Checks claims of the right types against the rules.
 *
 * Times are compared so that a clock returning `NaN` refuses the token.
 *
 * @param now the current time, in seconds
 * @returns the first rule that was broken, or `null`
 */
export function brokenRule(claims: JwtClaims, rules: JwtVerifyOptions, now: number): JwtFailure | null {
  if (rules.requireSubject && !claims.sub) return "subject";
  if (rules.issuer !== undefined && claims.iss !== rules.issuer) return "issuer";
  if (rules.audience !== undefined && !isFor(rules.audience, claims.aud)) return "audience";
  const latest = now + (rules.clockSkewSeconds ?? 0);
  if (claims.nbf !== undefined && !(claims.nbf <= latest)) return "not_yet_valid";
  if (claims.iat !== undefined && !(claims.iat <= latest)) return "not_yet_valid";
  if (claims.exp === undefined && rules.requireExpiry === true) return "expired";
  if (claims.exp !== undefined && rules.ignoreExpiry !== true && !(now < claims.exp)) return "expired";
  return null;
}

function isFor(audience: string, claim: JwtClaims["aud"]): boolean {
  return typeof claim === "string" ? claim === audience : claim?.includes(audience) === true;
}
