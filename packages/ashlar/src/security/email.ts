const MAX_BYTES = 254;
const MAX_LOCAL_BYTES = 64;
/** An address that is short enough after normalization is never longer than this before it. */
const MAX_INPUT_LENGTH = 1024;

/**
 * Characters not allowed in an unquoted local part: control, invisible and unassigned characters, lone surrogates, white
 * space, the specials of RFC 5322 §3.2.3 (among them the comma and the brackets), and braces. Without them, nothing in
 * an address can start a second one, a display name, a comment or another header.
 */
const LOCAL_PART_REFUSED = /[\p{C}\p{Z}()<>[\]{}:;\\,"@]/u;
const DOMAIN = /^[\p{L}\p{M}\p{N}-]+(?:\.[\p{L}\p{M}\p{N}-]+)*$/u;

/**
 * Normalizes an email address to the form in which it is stored, compared and used for sending: NFKC, lower case,
 * trimmed.
 *
 * Internationalized addresses (RFC 6531) are accepted; quoted local parts and address literals (`user@[127.0.0.1]`) are
 * not. Only sending a mail shows whether the address exists.
 *
 * @returns the normalized address, at most 254 bytes (RFC 5321 §4.5.3.1.3), or `null` if it is not valid
 */
export function normalizeEmail(input: string): string | null {
  if (input.length > MAX_INPUT_LENGTH) return null;
  // Lowercasing can break NFKC, so normalize again at the end.
  const normal = input.normalize("NFKC").toLowerCase().normalize("NFKC");
  if (Buffer.byteLength(normal) > MAX_BYTES) return null;
  const address = normal.replace(/^ +| +$/g, "");
  const at = address.lastIndexOf("@");
  const local = address.slice(0, Math.max(at, 0));
  if (local === "" || Buffer.byteLength(local) > MAX_LOCAL_BYTES || LOCAL_PART_REFUSED.test(local)) return null;
  return DOMAIN.test(address.slice(at + 1)) ? address : null;
}
