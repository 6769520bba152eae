import { AshlarError, type Dictionary, isPlainObject } from "../../support/index.ts";
import { decodeTransient, encodeBase64url } from "./encoding.ts";
import type { JwtFailure } from "./errors.ts";
import { type JwsHeader, keyList, narrowed, type VerificationKey } from "./keys.ts";
import "./errors.ts";

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

/**
 * Reads a segment that must be a JSON object in UTF-8 in canonical base64url (RFC 7515 §5.2, RFC 8725 §3.7).
 *
 * If members share a name, the last one counts, as RFC 7515 §4 and RFC 7519 §4 allow. The object is read only once, so
 * what was checked is what is used. A member `__proto__` is refused at any depth: it would be harmless here, but would
 * become the prototype of the first object that the claims are copied into.
 *
 * @returns the object, or `null` if the segment is anything else
 */
export function parseObjectSegment(segment: string): Dictionary | null {
  const bytes = decodeTransient(segment);
  if (bytes === null) return null;
  const text = bytes.buffer.toString("utf8", 0, bytes.length);
  // The decoder replaces bytes that are not UTF-8 with U+FFFD. Only the bytes show whether U+FFFD was really there.
  if (text.includes("\uFFFD") && !Buffer.from(text).equals(bytes.buffer.subarray(0, bytes.length))) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  // A name can be written with escapes, so a text with a backslash is searched too.
  if ((text.includes("__proto__") || text.includes("\\")) && holdsPrototypeMember(value)) return null;
  return value as Dictionary;
}

/**
 * Writes an object as JSON in base64url.
 *
 * @param what the name to use in messages
 * @throws `E_JWT_CLAIMS` if it cannot be written
 */
export function objectSegment(value: object, what: string): string {
  try {
    return encodeBase64url(JSON.stringify(value));
  } catch (cause) {
    throw new AshlarError("E_JWT_CLAIMS", `The ${what} cannot be written as JSON.`, { cause });
  }
}

/**
 * Requires a value to be an object literal or a dictionary.
 *
 * @param what the name to use in messages
 * @throws `E_JWT_CLAIMS`
 */
export function requirePlainObject(value: object, what: string): void {
  if (!isPlainObject(value)) throw new AshlarError("E_JWT_CLAIMS", `The ${what} must be a plain object.`);
}

function holdsPrototypeMember(root: object): boolean {
  const pending: object[] = [root];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (Object.hasOwn(value, "__proto__")) return true;
    for (const member of Object.values(value)) {
      if (typeof member === "object" && member !== null) pending.push(member);
    }
  }
  return false;
}
