import { AshlarError, type Dictionary, isPlainObject } from "../../support/index.ts";
import { decodeTransient, encodeBase64url } from "./base64url.ts";
import "./errors.ts";

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
