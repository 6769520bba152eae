import ipaddr from "ipaddr.js";
import { canonicalAddress } from "../http/index.ts";
import { digest, normalizeEmail } from "../security/index.ts";
import type { ThrottlePart } from "./settings.ts";

/** Whose attempts are counted. */
export interface ThrottleKeys {
  /** What the account is called: an email address, a user name, a primary key; `null` if there is none. */
  readonly account?: string | null;
  /**
   * Which accounts `account` is one of: with a realm it is taken exactly as it is, and never meets the same text of
   * another realm. `null`, for a limit that has nothing to do with guards: an email address counts in its normal form.
   */
  readonly realm?: string | null;
  /** The client's address; `null` if it is not known. */
  readonly address?: string | null;
  /**
   * What the client proved of itself beyond any doubt, such as a device that the account was used on before. It is
   * counted by in place of the address.
   */
  readonly proof?: string | null;
}

/** Whose attempts are counted, as a request shows. */
export interface AttemptKeys extends ThrottleKeys {
  /**
   * What stands for a device that the account was used on before. It is counted by in place of the address, like a proof,
   * but only so often for all devices of the account together: each login can make another one.
   */
  readonly device?: string | null;
}

/** How much of an identifier counts, in UTF-16 units. No account has a longer one. */
const MAX_IDENTIFIER_LENGTH = 1024;

/**
 * The digest that stands for an account in `auth.lockout`: 43 characters, from which the identifier cannot be read. An
 * email address is digested in the form in which it is stored, everything else exactly as it is.
 *
 * @param identifier an email address, a user name, a primary key
 * @returns `null` if it is blank or not text
 */
export function accountDigest(identifier: unknown): string | null {
  if (typeof identifier !== "string") return null;
  const text = identifier.slice(0, MAX_IDENTIFIER_LENGTH);
  return text.trim() === "" ? null : digest(normalizeEmail(text) ?? text);
}

/**
 * The part of an address that attempts are counted by: all of an IPv4 address, and the first 64 bits of an IPv6 address,
 * since a client with one of those addresses has all of them.
 *
 * @returns `null` if it is not an address
 */
export function addressBlock(address: string | null): string | null {
  const canonical = address === null ? null : canonicalAddress(address);
  if (canonical === null || !canonical.includes(":")) return canonical;
  const { parts } = ipaddr.IPv6.parse(canonical);
  return `${parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}

/** The digest that stands for an account in keys. */
function accountKey({ account = null, realm = null }: ThrottleKeys): string | null {
  if (realm === null || account === null) return accountDigest(account);
  return digest(`${realm}\0${account.slice(0, MAX_IDENTIFIER_LENGTH)}`);
}

/**
 * The key that a bucket counts under: a digest, so that no store holds an address in clear, and of one length whatever a
 * client sends. If an attempt names no account, the address takes its place: attempts without an account at one address
 * must not count against those at another.
 *
 * @returns `null` if the bucket has nothing to say to the attempt. That is so if it counts by address alone, and the
 * address is not known (all such clients would otherwise share one bucket, and lock each other out), or the client proved
 * itself by something better.
 */
export function throttleKey(by: readonly ThrottlePart[], keys: ThrottleKeys): string | null {
  const block = addressBlock(keys.address ?? null);
  const proof = keys.proof ?? null;
  if (!by.includes("account")) return block === null || proof !== null ? null : digest(block);
  const account = accountKey(keys);
  if (account === null) return block === null ? null : digest(`none ${block}`);
  if (!by.includes("address")) return digest(account);
  if (proof !== null) return digest(`${account} proof ${proof}`);
  return digest(block === null ? account : `${account} ${block}`);
}

/** The key that all known devices of an account are counted under together; `null` if no account is named. */
export function devicesKey(keys: ThrottleKeys): string | null {
  const account = accountKey(keys);
  return account === null ? null : digest(`${account} devices`);
}

/**
 * Tells whether nobody but the client's own attempts are counted under a key, so that the client may know the count: a
 * count by account alone would tell each client what the others did.
 */
export function isClientsOwn(by: readonly ThrottlePart[], { address = null, proof = null }: ThrottleKeys): boolean {
  return by.includes("address") && (proof !== null || addressBlock(address) !== null);
}
