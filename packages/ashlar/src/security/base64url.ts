/**
 * Decodes base64url as it was encoded, and in no other spelling (RFC 4648 §3.5, §5): no padding, no white space, no
 * stray trailing bits.
 *
 * @returns the bytes, or `null` where the text is not what encoding those bytes gives
 */
export function decodeBase64Url(text: string): Buffer | null {
  const bytes = Buffer.from(text, "base64url");
  // The platform passes over whatever it cannot read. Two spellings of one value would be two tokens where one was issued.
  return bytes.toString("base64url") === text ? bytes : null;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes UTF-8, or gives `null` where the bytes are not UTF-8. A byte order mark is part of the text. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}
