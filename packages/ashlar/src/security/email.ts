import { domainToASCII, domainToUnicode } from "node:url";

const MAX_BYTES = 254;
const MAX_LOCAL_BYTES = 64;
/** The maximum length before normalization. No longer address can be short enough after it. */
const MAX_INPUT_LENGTH = 1024;

/**
 * Characters not allowed in an unquoted local part: control, invisible and unassigned characters, lone surrogates, white
 * space, the specials of RFC 5322 §3.2.3 (among them the comma and the brackets), and braces. Without them, nothing in
 * an address can start a second one, a display name, a comment or another header.
 */
const LOCAL_PART_REFUSED = /[\p{C}\p{Z}()<>[\]{}:;\\,"@]/u;

/**
 * Text that some mail software reads as something other than a mailbox: an encoded word (RFC 2047 §2), which hides
 * another address; routes through other hosts, `a%b@relay` and `b!a@relay`; a command-line option, `-f`; a file or a
 * program, `/etc/x` and `|x` (Exim's default ACL refuses all of these too); dots that RFC 5322 §3.2.3 doesn't allow
 * there; and characters that are not shown.
 */
const LOCAL_PART_AMBIGUOUS = /=\?|[%!]|^[-./|]|\.$|\.\.|\p{Default_Ignorable_Code_Point}/u;

/**
 * Normalizes an email address to the form in which it is stored, compared and used for sending. Before the `@`: NFKC
 * and lower case. After it: the domain in ASCII, by UTS 46, non-transitional, so that `u@bücher.example` and
 * `u@xn--bcher-kva.example`, its form in browsers, are one address. Spaces around the address are removed.
 *
 * Internationalized addresses (RFC 6531) are accepted; quoted local parts and IP addresses are not, nor are local parts
 * that mail software can read as something else, with `%`, `!`, an encoded word (`=?…?=`), an invisible character, two
 * dots in a row, a dot at either end, or `-`, `/` or `|` at the start. Only sending a mail shows whether the address
 * exists.
 *
 * @returns the normalized address, at most 254 bytes (RFC 5321 §4.5.3.1.3), or `null` if it is not valid
 */
export function normalizeEmail(input: string): string | null {
  const address = normalizeKnownEmail(input);
  return address === null || isAmbiguous(address) ? null : address;
}

/**
 * Like {@link normalizeEmail}, but for looking up an existing account. It also accepts local parts that are no longer
 * allowed for new accounts, whose owners can still log in.
 *
 * Security: such an address must neither be stored nor get a mail.
 */
export function normalizeKnownEmail(input: string): string | null {
  if (input.length > MAX_INPUT_LENGTH) return null;
  const text = input.normalize("NFKC").replace(/^ +| +$/g, "");
  const at = text.lastIndexOf("@");
  // Lowercasing can break NFKC, so normalize again at the end.
  const local = text.slice(0, Math.max(at, 0)).toLowerCase().normalize("NFKC");
  if (local === "" || Buffer.byteLength(local) > MAX_LOCAL_BYTES || LOCAL_PART_REFUSED.test(local)) return null;
  const domain = normalizeDomain(text.slice(at + 1));
  if (domain === null) return null;
  const address = `${local}@${domain}`;
  return Buffer.byteLength(address) > MAX_BYTES ? null : address;
}

/** Reports whether mail software could read an address from {@link normalizeKnownEmail} as something else. */
function isAmbiguous(address: string): boolean {
  return LOCAL_PART_AMBIGUOUS.test(address.slice(0, address.lastIndexOf("@")));
}

/**
 * Reports whether two addresses are spellings of the same mailbox. `null`, which means no address, equals only `null`.
 */
export function isSameEmail(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return one === other;
  return one === other || (normalizeKnownEmail(one) ?? one) === (normalizeKnownEmail(other) ?? other);
}

/**
 * The forms in which an address may be stored: the normal form, and with a Unicode domain if the domain is
 * international, because earlier versions stored the domain as typed.
 *
 * @param address the normalized address
 */
export function spellingsOfEmail(address: string): readonly string[] {
  const at = address.lastIndexOf("@");
  const domain = address.slice(at + 1);
  const unicode = unicodeDomain(domain);
  return unicode === domain ? [address] : [address, `${address.slice(0, at)}@${unicode}`];
}

const ASCII_LABELS = /^[a-zA-Z\d-]+(?:\.[a-zA-Z\d-]+)*$/;
/** Labels as in mail addresses (RFC 5321 §4.1.2): letters, digits, and hyphens inside. */
const LABELS = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*$/;
/** No top-level domain is a number, but an IPv4 address ends with one: `127.0.0.1`, `0x7f.1`. */
const NUMBER_AT_END = /(?:^|\.)(?:\d+|0x[\da-f]*)$/;
const A_LABEL = /(?:^|\.)xn--/;
/** Non-ASCII characters are left to UTS 46. This allows only ASCII characters that a URL parser doesn't interpret. */
const INTERNATIONAL = /^(?:[a-zA-Z\d.-]|[^\0-\x7f])+$/u;

/**
 * A domain in the form in which it is stored and compared: ASCII, by UTS 46, non-transitional, so that `bücher.example`,
 * `BÜCHER.example` and `xn--bcher-kva.example` are one domain, and `faß.example` and `fass.example` are two, as for
 * browsers and registries.
 *
 * @returns `null` if it isn't a domain
 */
export function normalizeDomain(domain: string): string | null {
  const isPlain = ASCII_LABELS.test(domain) && !A_LABEL.test(domain.toLowerCase());
  const ascii = isPlain ? domain.toLowerCase() : internationalDomain(domain);
  return ascii !== null && LABELS.test(ascii) && !NUMBER_AT_END.test(ascii) ? ascii : null;
}

function internationalDomain(domain: string): string | null {
  if (!INTERNATIONAL.test(domain)) return null;
  const ascii = domainToASCII(domain);
  if (!A_LABEL.test(ascii)) return ascii === "" ? null : ascii;
  // Some runtimes pass a label with xn-- through unchecked. Its decoded form must encode back to it, and not begin with
  // xn-- itself, because otherwise one domain would have several forms.
  const unicode = domainToUnicode(ascii);
  return !A_LABEL.test(unicode) && domainToASCII(unicode) === ascii ? ascii : null;
}

/** Returns a domain from {@link normalizeDomain} in Unicode, as people write domains. */
export function unicodeDomain(domain: string): string {
  return A_LABEL.test(domain) ? domainToUnicode(domain) : domain;
}
