import { domainToASCII, domainToUnicode } from "node:url";

const ASCII_LABELS = /^[a-zA-Z\d-]+(?:\.[a-zA-Z\d-]+)*$/;
/** Labels as in mail addresses (RFC 5321 §4.1.2): letters, digits, and hyphens inside. */
const LABELS = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*$/;
/** No top-level domain is a number, but an IPv4 address ends with one: `127.0.0.1`, `0x7f.1`. */
const NUMBER_AT_END = /(?:^|\.)(?:\d+|0x[\da-f]*)$/;
const A_LABEL = /(?:^|\.)xn--/;
/**
 * Leaves non-ASCII characters to UTS 46. The ASCII characters that get there are ones that a URL parser doesn't
 * interpret.
 */
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
  // xn-- itself, or one domain would have several forms.
  const unicode = domainToUnicode(ascii);
  return !A_LABEL.test(unicode) && domainToASCII(unicode) === ascii ? ascii : null;
}

/** Returns a domain from {@link normalizeDomain} in Unicode, as people write it. */
export function unicodeDomain(domain: string): string {
  return A_LABEL.test(domain) ? domainToUnicode(domain) : domain;
}
