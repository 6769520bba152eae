import ipaddr from "ipaddr.js";
import { canonicalAddress } from "../http/index.ts";
import { digest, normalizeEmail } from "../security/index.ts";
import type { ThrottlePart } from "./settings.ts";

/** Whose attempts are counted. */
export interface ThrottleKeys {
  /** What the account is called: an e-mail address, a user name, a primary key; `null` where there is none. */
  readonly account?: string | null;
  /** The client's address; `null` where it is not known. */
  readonly address?: string | null;
}

/** How much of an identifier counts, in UTF-16 units. No account has a longer one. */
const MAX_IDENTIFIER_LENGTH = 1024;

/** What all whose address is not known are counted under. */
const UNKNOWN_ADDRESS = "unknown";

/**
 * The digest that stands for an account in keys and in `auth.lockout`: 43 characters, from which the identifier cannot
 * be read. Spellings that a database may take for one account have one digest: letters in either case, with and without
 * accents, with invisible characters between them.
 *
 * @param identifier an e-mail address, a user name, a primary key
 * @returns `null` where nothing is left of it, and for what is no text
 */
export function accountDigest(identifier: unknown): string | null {
  if (typeof identifier !== "string") return null;
  const text = identifier.slice(0, MAX_IDENTIFIER_LENGTH);
  const normal = normalizeEmail(text) ?? text.normalize("NFKC").toLowerCase();
  // Some databases compare without accents and without what is invisible: each variant would be a fresh set of attempts.
  const letters = normal
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[\p{M}\p{C}\p{Z}]/gu, "");
  return letters === "" ? null : digest(letters);
}

/**
 * The part of an address that attempts are counted by: an IPv4 address whole, of an IPv6 address the first 64 bits,
 * since whoever has one address has all of those. `unknown` where it is no address.
 */
export function addressBlock(address: string | null): string {
  const canonical = address === null ? null : canonicalAddress(address);
  if (canonical === null) return UNKNOWN_ADDRESS;
  if (!canonical.includes(":")) return canonical;
  const { parts } = ipaddr.IPv6.parse(canonical);
  return `${parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}

/**
 * The key that a bucket counts under: a digest, so that no store holds an address in clear, of one length whatever a
 * client sends. Where there is no account, the address takes its place: what one of those does who name none must not
 * count against all of them.
 */
export function throttleKey(by: readonly ThrottlePart[], keys: ThrottleKeys): string {
  const block = addressBlock(keys.address ?? null);
  if (!by.includes("account")) return digest(block);
  const account = accountDigest(keys.account);
  if (account === null) return digest(`none ${block}`);
  return digest(by.includes("address") ? `${account} ${block}` : account);
}
