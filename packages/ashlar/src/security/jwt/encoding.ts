import { AshlarError, type Dictionary, isPlainObject } from "../../support/index.ts";
import "./errors.ts";

/** Size of the shared buffer in bytes: enough for every segment of a token within the default 8 KiB. */
const SCRATCH_BYTES = 8192;

const scratch: Buffer = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/** A decoded segment in a buffer that the next decoding overwrites. */
const decoded: { buffer: Buffer; length: number } = { buffer: scratch, length: 0 };

/**
 * Decodes a segment like {@link decodeBase64url}, into a buffer that the next call overwrites.
 *
 * @returns the buffer, which must be read before the next call, and how many of its bytes are used; `null` if the
 * segment is not canonical
 */
export function decodeTransient(segment: string): { readonly buffer: Buffer; readonly length: number } | null {
  const buffer = segment.length <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafe(segment.length);
  const length = buffer.write(segment, "base64url");
  // Node's decoder skips unknown characters and accepts both alphabets, padding and stray bits, so several texts decode
  // to the same bytes. Only the text that these bytes encode to is canonical.
  if (buffer.toString("base64url", 0, length) !== segment) return null;
  decoded.buffer = buffer;
  decoded.length = length;
  return decoded;
}

/**
 * Decodes base64url in its canonical form only: no padding, no white space, no character of another alphabet, no
 * leftover bits at the end (RFC 7515 §2, RFC 4648 §3.5).
 *
 * @returns the bytes, or `null` if the segment is not in that form
 */
export function decodeBase64url(segment: string): Buffer | null {
  const result = decodeTransient(segment);
  return result === null ? null : Buffer.from(result.buffer.subarray(0, result.length));
}

/** Encodes bytes, or a text's UTF-8, as base64url without padding (RFC 7515 §2). */
export function encodeBase64url(data: string | Uint8Array): string {
  return (
    typeof data === "string" ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  ).toString("base64url");
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes UTF-8; `null` if the bytes are not UTF-8. A byte order mark is part of the text. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Reads a segment that must be a JSON object in UTF-8 in canonical base64url (RFC 7515 §5.2, RFC 8725 §3.7).
 *
 * If members have the same name, the last one is used, as RFC 7515 §4 and RFC 7519 §4 allow. The object is parsed only
 * once, so the object that was checked is also used. A member `__proto__` is refused at any depth: it would be
 * harmless here, but would become the prototype of the first object that the claims are copied into.
 *
 * @returns the object, or `null` if the segment is anything else
 */
export function parseObjectSegment(segment: string): Dictionary | null {
  const bytes = decodeTransient(segment);
  if (bytes === null) return null;
  const text = bytes.buffer.toString("utf8", 0, bytes.length);
  // The decoder replaces bytes that are not UTF-8 with U+FFFD. Only the bytes show whether U+FFFD was in the text.
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
 * @param what its name in messages
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
 * @param what its name in messages
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
