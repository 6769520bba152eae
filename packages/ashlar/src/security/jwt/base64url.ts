/** How many bytes the shared buffer holds: enough for every segment of a token of the usual 8 KiB. */
const SCRATCH_BYTES = 8192;

const scratch: Buffer = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/** A decoded segment inside a buffer that the next decoding overwrites. */
const decoded: { buffer: Buffer; length: number } = { buffer: scratch, length: 0 };

/**
 * Decodes a segment as {@link decodeBase64url} does, into a buffer that is overwritten by the next call.
 *
 * @returns the buffer and how many bytes of it count, to be read at once; `null` where the segment is not canonical
 */
export function decodeTransient(segment: string): { readonly buffer: Buffer; readonly length: number } | null {
  const buffer = segment.length <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafe(segment.length);
  const length = buffer.write(segment, "base64url");
  // Node's decoder skips what it does not know and takes both alphabets, padding and stray bits, so several texts give
  // the same bytes. Only the one that these bytes are encoded to is canonical.
  if (buffer.toString("base64url", 0, length) !== segment) return null;
  decoded.buffer = buffer;
  decoded.length = length;
  return decoded;
}

/**
 * Decodes base64url in its one canonical form: no padding, no white space, no character of another alphabet, no bits
 * left over at the end (RFC 7515 §2, RFC 4648 §3.5).
 *
 * @returns the bytes, or `null` where the segment is not in that form
 */
export function decodeBase64url(segment: string): Buffer | null {
  const result = decodeTransient(segment);
  return result === null ? null : Buffer.from(result.buffer.subarray(0, result.length));
}

/** Encodes bytes, or the UTF-8 of a text, as base64url without padding (RFC 7515 §2). */
export function encodeBase64url(data: string | Uint8Array): string {
  return (
    typeof data === "string" ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  ).toString("base64url");
}
