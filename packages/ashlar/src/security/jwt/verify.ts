import { ConfigurationError, nowInSeconds } from "../../support/index.ts";
import type { JwtAlgorithm } from "./algorithms.ts";
import { decodeBase64url, parseObjectSegment } from "./encoding.ts";
import { JwtError, type JwtFailure } from "./errors.ts";
import { type JwsHeader, keyList, narrowed, type VerificationKey } from "./keys.ts";

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

/** Requirements for a token besides a valid signature. */
export interface JwtVerifyOptions {
  /** The current time in seconds; default: taken from the framework's clock. */
  readonly clock?: () => number;
  /** How far in the future `iat` and `nbf` may be, in seconds; default: 0. It does not apply to `exp`. */
  readonly clockSkewSeconds?: number;
  /** The required `iss`. */
  readonly issuer?: string;
  /**
   * The required `aud`, or a value that it must contain.
   *
   * Security: without it, tokens for other audiences are accepted if they were signed with the same key.
   */
  readonly audience?: string;
  /**
   * The required `typ` of the header. If you leave it out, a token may have no `typ`, or `JWT` (RFC 7519 §5.1). With
   * `null`, `typ` is ignored. Types are compared as media types (RFC 7515 §4.1.9): case is ignored, and
   * `application/at+jwt` equals `at+jwt`.
   *
   * Security: if several kinds of tokens share a key, give each its own type, and name it here (RFC 8725 §3.11).
   */
  readonly typ?: string | null;
  /** Requires `typ` to be present and to match exactly: `JWT` unless you specify another. */
  readonly exactTyp?: boolean;
  /** Accepts a token that has expired. Everything else is still checked, including the type of `exp`. */
  readonly ignoreExpiry?: boolean;
  /** Refuses a token without `exp`. */
  readonly requireExpiry?: boolean;
  /** Refuses a token whose `sub` is missing or empty. */
  readonly requireSubject?: boolean;
  /** The maximum length of a token, in bytes; default: 8192. */
  readonly maxBytes?: number;
}

/** Options for verifying a JWS. */
export interface JwsVerifyOptions {
  /** The maximum length of a token, in bytes; default: 8192. */
  readonly maxBytes?: number;
}

/** A compact JWS with a valid signature, and a payload that is still encoded. */
interface OpenedJws {
  readonly header: JwsHeader;
  readonly payload: string;
  readonly key: VerificationKey;
}

/** The default maximum length of a token, in bytes. */
const DEFAULT_MAX_BYTES = 8192;

const NO_OPTIONS: JwtVerifyOptions = Object.freeze({});

/**
 * Verifies a compact JWS with any payload (RFC 7515 §5.2).
 *
 * Security: a signature shows who created the payload, but not its purpose. If several kinds of tokens share a key,
 * check the header's `typ`.
 *
 * @param keys one key, or several during a key rotation, any of which may have signed the token
 * @returns the payload; the protected header, of which only `alg` has been checked; and the key that verified the
 * signature
 * @throws {@link JwtError} (`E_JWT_INVALID`) if the token is not valid; `E_JWT_KEY` if the keys cannot be used;
 *   `E_INVALID_CONFIGURATION` if `maxBytes` is invalid
 */
export function verifyJws(
  token: string,
  keys: VerificationKey | readonly VerificationKey[],
  options: JwsVerifyOptions = {},
): {
  readonly header: { readonly alg: JwtAlgorithm; readonly typ?: unknown; readonly [name: string]: unknown };
  readonly payload: Uint8Array;
  readonly key: VerificationKey;
} {
  const opened = openJws(token, keys, maxBytesOf(options));
  if (typeof opened === "string") throw new JwtError(opened);
  const payload = decodeBase64url(opened.payload);
  if (payload === null) throw new JwtError("malformed");
  return { header: opened.header, payload, key: opened.key };
}

/**
 * Verifies a JWT (RFC 7519 §7.2) and returns the outcome instead of throwing, for use on the request path.
 *
 * The size, shape, header and algorithm are checked first, and then the signature. Only then are the claims checked:
 * their types, the subject, the issuer, the audience, and finally the times.
 *
 * @param token the value that the client presented, of any type
 * @param keys one key, or several during a key rotation, any of which may have signed the token
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

/**
 * Checks the size, shape, protected header and signature of a compact JWS (RFC 7515 §5.2), in this order.
 *
 * @returns the parts, or the check that failed
 */
function openJws(
  token: string,
  keys: VerificationKey | readonly VerificationKey[],
  maxBytes: number,
): OpenedJws | JwtFailure {
  if (typeof token !== "string") return "malformed";
  // Counting characters is enough, because characters of more than one byte are refused later.
  if (token.length > maxBytes) return "too_large";
  const first = token.indexOf(".");
  const second = token.indexOf(".", first + 1);
  if (second === -1 || token.indexOf(".", second + 1) !== -1) return "malformed";
  const list = keyList(keys);
  // The header that signJwt writes is recognized by its text, without parsing.
  const usual = list[0];
  const header =
    first === usual.jwtHeader.length && token.startsWith(usual.jwtHeader)
      ? usual.parsedJwtHeader
      : readHeader(token.slice(0, first));
  if (typeof header === "string") return header;
  // The keys determine the algorithm; the token can only confirm it.
  if (!list.some(({ algorithm }) => algorithm === header.alg)) return "algorithm";
  let failure: JwtFailure = "unknown_key";
  for (const key of narrowed(list, header.kid)) {
    if (header.alg !== key.algorithm) continue;
    if (key.verifies(token, second)) return { header, payload: token.slice(first + 1, second), key };
    failure = "signature";
  }
  return failure;
}

/**
 * The protected header of a compact JWS, unverified; `null` if it has no readable header.
 *
 * Security: use it only to decide whether to look for other keys.
 */
export function unverifiedHeader(token: string, maxBytes: number = DEFAULT_MAX_BYTES): JwsHeader | null {
  const dot = token.length > maxBytes ? -1 : token.indexOf(".");
  const header = dot === -1 ? "malformed" : readHeader(token.slice(0, dot));
  return typeof header === "string" ? null : header;
}

function readHeader(segment: string): JwsHeader | JwtFailure {
  const header = parseObjectSegment(segment);
  if (header === null) return "malformed";
  // No extension is supported, so any `crit` must be refused, including a malformed one (RFC 7515 §4.1.11). `b64` would
  // change what was signed (RFC 7797 §3).
  if (Object.hasOwn(header, "crit") || Object.hasOwn(header, "b64")) return "critical_header";
  // Missing members of the header must not be read from a prototype.
  return Object.setPrototypeOf(header, null) as JwsHeader;
}

/**
 * Reports whether the registered claims that are present have the types of RFC 7519 §4.1.
 *
 * A claim is missing only if it is `undefined`: `exp: 0` is a time, and `exp: null` is present.
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
 * Checks claims against the requirements. Their types have already been checked.
 *
 * The comparisons are written so that a clock returning `NaN` refuses the token.
 *
 * @param now the current time, in seconds
 * @returns the first requirement that isn't met, or `null`
 */
export function brokenRule(claims: JwtClaims, rules: JwtVerifyOptions, now: number): JwtFailure | null {
  if (rules.requireSubject && !claims.sub) return "subject";
  if (rules.issuer !== undefined && claims.iss !== rules.issuer) return "issuer";
  if (rules.audience !== undefined && !isFor(rules.audience, claims.aud)) return "audience";
  return brokenTime(claims, rules, now);
}

function brokenTime(claims: JwtClaims, rules: JwtVerifyOptions, now: number): "not_yet_valid" | "expired" | null {
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

/**
 * Rejects options that would make comparisons wrong. `NaN`, for example, is neither before nor after any time.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
function checkVerifyOptions(options: JwtVerifyOptions): void {
  const { clockSkewSeconds, issuer, audience, typ, exactTyp } = options;
  if (clockSkewSeconds !== undefined && !(Number.isFinite(clockSkewSeconds) && clockSkewSeconds >= 0)) {
    throw invalid("clockSkewSeconds", "must be a number of seconds, at least 0.");
  }
  checkText("issuer", issuer);
  checkText("audience", audience);
  checkText("typ", typ ?? undefined);
  if (exactTyp === true && typ === null) throw invalid("exactTyp", "contradicts typ: null, which accepts any type.");
}

function checkText(name: "issuer" | "audience" | "typ", value: unknown): void {
  if (value !== undefined && (typeof value !== "string" || value === "")) throw invalid(name, "must be text.");
}

/** Reports whether the `typ` of a header, of any type, meets the options. */
function hasExpectedTyp(typ: unknown, { typ: expected, exactTyp }: JwtVerifyOptions): boolean {
  if (expected === null || typ === (expected ?? "JWT")) return true;
  if (exactTyp === true) return false;
  if (typ === undefined) return expected === undefined;
  return typeof typ === "string" && mediaType(typ) === mediaType(expected ?? "JWT");
}

/** A media type without a slash is short for `application/…` (RFC 7515 §4.1.9). */
function mediaType(typ: string): string {
  const lower = typ.toLowerCase();
  return lower.includes("/") ? lower : `application/${lower}`;
}

/**
 * Returns the maximum length of a token, in bytes.
 *
 * @throws `E_INVALID_CONFIGURATION` if it is not a positive integer
 */
function maxBytesOf(options: { readonly maxBytes?: number }): number {
  const { maxBytes } = options;
  if (maxBytes === undefined) return DEFAULT_MAX_BYTES;
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 1) throw invalid("maxBytes", "must be an integer, at least 1.");
  return maxBytes;
}

function invalid(name: keyof JwtVerifyOptions, problem: string): ConfigurationError {
  return new ConfigurationError(`JWT verification: ${name}`, problem, "Omit it to use the default.");
}
