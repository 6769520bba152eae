import { ConfigurationError } from "../../support/index.ts";
import { DEFAULT_MAX_BYTES } from "./compact.ts";

/** What a token is held against, beyond its signature. */
export interface JwtVerifyOptions {
  /** The current time in seconds; the framework's clock where left out. */
  readonly clock?: () => number;
  /** How far in the future `iat` and `nbf` may be, in seconds; none where left out. `exp` has no such allowance. */
  readonly clockSkewSeconds?: number;
  /** What `iss` must be. */
  readonly issuer?: string;
  /**
   * What `aud` must be or hold.
   *
   * Security: where left out, a token that was made for somebody else with the same key is accepted.
   */
  readonly audience?: string;
  /**
   * What the header's `typ` must be. If you leave it out, a token may have no `typ`, or `JWT` (RFC 7519 §5.1). With
   * `null`, `typ` isn't looked at. Types are compared as media types (RFC 7515 §4.1.9): case doesn't count, and
   * `application/at+jwt` is `at+jwt`.
   *
   * Security: if several kinds of tokens share a key, give each its own type, and name it here (RFC 8725 §3.11).
   */
  readonly typ?: string | null;
  /** Requires the `typ`, `JWT` unless you name another, and compares it to the letter. */
  readonly exactTyp?: boolean;
  /** Accepts a token that has expired. Everything else is checked, the type of `exp` among it. */
  readonly ignoreExpiry?: boolean;
  /** Refuses a token whose `sub` is missing or empty. */
  readonly requireSubject?: boolean;
  /** The longest token that is looked at, in bytes; 8192 where left out. */
  readonly maxBytes?: number;
}

/**
 * Checks what could make a comparison come out wrong: `NaN` is neither before nor after any time.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
export function checkVerifyOptions(options: JwtVerifyOptions): void {
  const { clockSkewSeconds, issuer, audience, typ, exactTyp } = options;
  if (clockSkewSeconds !== undefined && !(Number.isFinite(clockSkewSeconds) && clockSkewSeconds >= 0)) {
    throw invalid("clockSkewSeconds", "is no number of seconds from 0 on.");
  }
  if (issuer !== undefined && (typeof issuer !== "string" || issuer === "")) throw invalid("issuer", "is no text.");
  if (audience !== undefined && (typeof audience !== "string" || audience === "")) {
    throw invalid("audience", "is no text.");
  }
  if (typ !== undefined && typ !== null && (typeof typ !== "string" || typ === "")) throw invalid("typ", "is no text.");
  if (exactTyp === true && typ === null) throw invalid("exactTyp", "contradicts typ: null, which accepts any type.");
}

/** Whether the `typ` of a header, of any kind of value, is what the options ask for. */
export function hasExpectedTyp(typ: unknown, { typ: expected, exactTyp }: JwtVerifyOptions): boolean {
  if (expected === null || typ === (expected ?? "JWT")) return true;
  if (exactTyp === true) return false;
  if (typ === undefined) return expected === undefined;
  return typeof typ === "string" && mediaType(typ) === mediaType(expected ?? "JWT");
}

/** RFC 7515 §4.1.9: a type without a slash stands for one that begins with `application/`. */
function mediaType(typ: string): string {
  const lower = typ.toLowerCase();
  return lower.includes("/") ? lower : `application/${lower}`;
}

/**
 * The longest token that is looked at, in bytes.
 *
 * @throws `E_INVALID_CONFIGURATION` where it is no whole number from 1 on
 */
export function maxBytesOf(options: { readonly maxBytes?: number }): number {
  const { maxBytes } = options;
  if (maxBytes === undefined) return DEFAULT_MAX_BYTES;
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 1) throw invalid("maxBytes", "is no whole number from 1 on.");
  return maxBytes;
}

function invalid(name: keyof JwtVerifyOptions, problem: string): ConfigurationError {
  return new ConfigurationError(`JWT verification: ${name}`, problem, "Leave it out for the default.");
}
