import type { JwtFailure } from "./errors.ts";
import { parseObjectSegment } from "./json.ts";
import { type JwsHeader, keyList, narrowed, type VerificationKey } from "./keys.ts";

/** A compact JWS with a valid signature, its payload still encoded. */
export interface OpenedJws {
  readonly header: JwsHeader;
  readonly payload: string;
  readonly key: VerificationKey;
}

/** The longest token accepted by default, in bytes. */
export const DEFAULT_MAX_BYTES = 8192;

/**
 * Checks the size, shape, protected header and signature of a compact JWS (RFC 7515 §5.2), in this order.
 *
 * @returns the parts, or the check that failed
 */
export function openJws(
  token: string,
  keys: VerificationKey | readonly VerificationKey[],
  maxBytes: number,
): OpenedJws | JwtFailure {
  if (typeof token !== "string") return "malformed";
  // Characters that take more than one byte are refused later, so it is enough to count characters here.
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
 * Security: only for deciding whether other keys are worth looking for.
 */
export function unverifiedHeader(token: string, maxBytes: number = DEFAULT_MAX_BYTES): JwsHeader | null {
  const dot = token.length > maxBytes ? -1 : token.indexOf(".");
  const header = dot === -1 ? "malformed" : readHeader(token.slice(0, dot));
  return typeof header === "string" ? null : header;
}

function readHeader(segment: string): JwsHeader | JwtFailure {
  const header = parseObjectSegment(segment);
  if (header === null) return "malformed";
  // No extension is supported, so any `crit` must be refused, and so must a malformed one (RFC 7515 §4.1.11). `b64`
  // would change what was signed (RFC 7797 §3).
  if (Object.hasOwn(header, "crit") || Object.hasOwn(header, "b64")) return "critical_header";
  // Members missing from the header must not come from a prototype.
  return Object.setPrototypeOf(header, null) as JwsHeader;
}
