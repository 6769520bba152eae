import type { JwtFailure } from "./errors.ts";
import { parseObjectSegment } from "./json.ts";
import { type JwsHeader, keyList, type VerificationKey } from "./keys.ts";

/** A compact JWS whose signature is right, its payload still encoded. */
export interface OpenedJws {
  readonly header: JwsHeader;
  readonly payload: string;
  readonly key: VerificationKey;
}

/** The longest token that is looked at where nothing else is said, in bytes. */
export const DEFAULT_MAX_BYTES = 8192;

/**
 * Checks the size, the shape, the protected header and the signature of a compact JWS (RFC 7515 §5.2), in this order.
 *
 * @returns the parts, or which check failed
 */
export function openJws(
  token: string,
  keys: VerificationKey | readonly VerificationKey[],
  maxBytes: number,
): OpenedJws | JwtFailure {
  if (typeof token !== "string") return "malformed";
  // A character that takes more than one byte is refused later, so that characters can be counted here.
  if (token.length > maxBytes) return "too_large";
  const first = token.indexOf(".");
  const second = token.indexOf(".", first + 1);
  if (second === -1 || token.indexOf(".", second + 1) !== -1) return "malformed";
  const list = keyList(keys);
  // The header that signJwt writes is known by its text and need not be parsed.
  const usual = list[0];
  const header =
    first === usual.jwtHeader.length && token.startsWith(usual.jwtHeader)
      ? usual.parsedJwtHeader
      : readHeader(token.slice(0, first));
  if (typeof header === "string") return header;
  let failure: JwtFailure = "algorithm";
  for (const key of list) {
    // The key says which algorithm is used; the token can only agree.
    if (header.alg !== key.algorithm) continue;
    if (key.verifies(token, second)) return { header, payload: token.slice(first + 1, second), key };
    failure = "signature";
  }
  return failure;
}

function readHeader(segment: string): JwsHeader | JwtFailure {
  const header = parseObjectSegment(segment);
  if (header === null) return "malformed";
  // No extension is understood here, so that any that must be understood is refused, and so is `crit` in every other
  // form (RFC 7515 §4.1.11). `b64` would change what was signed (RFC 7797 §3).
  if (Object.hasOwn(header, "crit") || Object.hasOwn(header, "b64")) return "critical_header";
  // What a header does not say, no prototype says for it.
  return Object.setPrototypeOf(header, null) as JwsHeader;
}
