const MAX_BYTES = 254;
const MAX_LOCAL_BYTES = 64;
/** No address that is short enough once normalised is longer than this before. */
const MAX_INPUT_LENGTH = 1024;

/**
 * What an unquoted local part is not made of: control, invisible and unassigned characters, lone surrogates, white space,
 * and the specials of RFC 5322 §3.2.3, among them the comma and the brackets; braces too. Without them nothing in an address
 * can start a second one, a display name, a comment or another header.
 */
const LOCAL_PART_REFUSED = /[\p{C}\p{Z}()<>[\]{}:;\\,"@]/u;
const DOMAIN = /^[\p{L}\p{M}\p{N}-]+(?:\.[\p{L}\p{M}\p{N}-]+)*$/u;

/**
 * Brings an email address into the one form in which it is stored, compared and sent to: NFKC, lower case, without the
 * spaces around it.
 *
 * Internationalised addresses (RFC 6531) are accepted; quoted local parts and address literals (`user@[127.0.0.1]`) are
 * not. Whether the address exists, only a mail to it shows.
 *
 * @returns the address in that form, at most 254 bytes (RFC 5321 §4.5.3.1.3), or `null` where it is none
 */
export function normalizeEmail(input: string): string | null {
  if (input.length > MAX_INPUT_LENGTH) return null;
  // Lower case can take a text out of NFKC, so that comes last again.
  const normal = input.normalize("NFKC").toLowerCase().normalize("NFKC");
  if (Buffer.byteLength(normal) > MAX_BYTES) return null;
  const address = normal.replace(/^ +| +$/g, "");
  const at = address.lastIndexOf("@");
  const local = address.slice(0, Math.max(at, 0));
  if (local === "" || Buffer.byteLength(local) > MAX_LOCAL_BYTES || LOCAL_PART_REFUSED.test(local)) return null;
  return DOMAIN.test(address.slice(at + 1)) ? address : null;
}
