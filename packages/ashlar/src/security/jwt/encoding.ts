/** Size of the shared buffer in bytes: enough for every segment of a token of the usual 8 KiB. */
const SCRATCH_BYTES = 8192;

const scratch: Buffer = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/** A decoded segment in a buffer that the next decoding overwrites. */
const decoded: { buffer: Buffer; length: number } = { buffer: scratch, length: 0 };

/**
 * Decodes a segment like {@link decodeBase64url}, into a buffer that the next call overwrites.
 *
 * @returns the buffer and how many of its bytes are used, which must be read before the next call; `null` if the
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
 * Decodes base64url in its canonical form only: no padding, no white space, no character of another alphabet, no bits
 * left over at the end (RFC 7515 §2, RFC 4648 §3.5).
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
