/** An email address in a sentence. */
const ADDRESS = /[^\s<>"'(),;:]+@[^\s<>"'(),;:]+/g;

/**
 * An address as it may be logged: `u…@example.com`. This is enough to find a mail again if you know the recipient, and
 * to see which mail service refuses mails.
 */
export function maskedAddress(address: string): string {
  const at = address.lastIndexOf("@");
  return `${[...address.slice(0, Math.max(at, 0))][0] ?? ""}…${at < 0 ? "" : address.slice(at)}`;
}

/** Removes every address from a sentence, even masked ones. */
export function withoutAddresses(sentence: string): string {
  return sentence.replaceAll(ADDRESS, "…");
}

/** Masks every address in a sentence, such as a mail server's response, which often repeats the recipient. */
export function withMaskedAddresses(sentence: string): string {
  return sentence.replaceAll(ADDRESS, maskedAddress);
}
