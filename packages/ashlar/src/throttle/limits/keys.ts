import ipaddr from "ipaddr.js";
import { canonicalAddress } from "../../http/index.ts";
import { digest, normalizeEmail } from "../../security/index.ts";
import type { ThrottlePart } from "./limit.ts";

/** Whose attempts are counted. */
export interface ThrottleKeys {
  /** The account's identifier: an email address, a user name, a primary key; `null` if there isn't one. */
  readonly account?: string | null;
  /**
   * The set of accounts that `account` belongs to. With a realm, the identifier is taken exactly as it is, and never
   * matches the same text in another realm. `null` for a limit that has nothing to do with guards: email addresses
   * count in their normal form.
   */
  readonly realm?: string | null;
  /** The client's address; `null` if it is not known. */
  readonly address?: string | null;
  /**
   * What the client has proved about itself beyond doubt, such as a device that the account was used on before. It is
   * counted instead of the address.
   */
  readonly proof?: string | null;
  /**
   * What is tried at the account, such as the code of one login step: attempts at each are counted separately. `null`
   * for attempts at the account as a whole.
   */
  readonly subject?: string | null;
}

/** Whose attempts are counted, according to a request. */
export interface AttemptKeys extends ThrottleKeys {
  /**
   * A device that the account was used on before. It is counted instead of the address, like a proof, but only up to a
   * limit for all devices of its group together, because each login can create another one.
   */
  readonly device?: CountedDevice | null;
}

/** A device that an account was used on before. */
export interface CountedDevice {
  /** What its attempts are counted under. Another text after access to the account has ended. */
  readonly id: string;
  /** The same text for all devices that the account was used on between two times that access ended. */
  readonly group: string;
}

/** How many UTF-16 units of an identifier count. No account has a longer one. */
const MAX_IDENTIFIER_LENGTH = 1024;

/**
 * The digest of an account in `auth.lockout`: 43 characters that do not reveal the identifier. An email address is
 * digested in the form in which it is stored, everything else unchanged.
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
 * The block of an address that attempts are counted by: a whole IPv4 address, or the first 64 bits of an IPv6 address,
 * because a client with one of those addresses has all of them.
 *
 * @returns `null` if it is not an address
 */
export function addressBlock(address: string | null): string | null {
  const canonical = address === null ? null : canonicalAddress(address);
  return canonical === null || !canonical.includes(":") ? canonical : prefixOf(canonical, 64);
}

/**
 * A larger block that an IPv6 address is part of. One customer of a provider often has all of it.
 *
 * @param length how many bits are the same for all addresses of the block
 * @returns `null` if it is not an IPv6 address
 */
export function widerBlock(address: string | null, length: WiderPrefix): string | null {
  const canonical = address === null ? null : canonicalAddress(address);
  return canonical === null || !canonical.includes(":") ? null : prefixOf(canonical, length);
}

/** The prefixes by which IPv6 addresses count in addition to the first 64 bits. */
export type WiderPrefix = 56 | 48;

function prefixOf(address: string, length: 64 | WiderPrefix): string {
  const parts = ipaddr.IPv6.parse(address).parts.slice(0, length === 48 ? 3 : 4);
  if (length === 56) parts[3] = parts[3]! & 0xff_00;
  return `${parts.map((part) => part.toString(16)).join(":")}::/${length}`;
}

/** Reports whether an attempt has an account to count it by. */
export function hasAccount(keys: ThrottleKeys): boolean {
  return accountKey(keys) !== null;
}

/** The digest of an account in keys, and of what is tried at it. */
function accountKey({ account = null, realm = null, subject = null }: ThrottleKeys): string | null {
  const isOfRealm = realm !== null && account !== null;
  const whole = isOfRealm ? digest(`${realm}\0${account.slice(0, MAX_IDENTIFIER_LENGTH)}`) : accountDigest(account);
  return whole === null || subject === null ? whole : digest(`${whole} ${subject}`);
}

/**
 * The key that a bucket counts under: a digest, so that no store holds an address in plain text, and all keys have the
 * same length whatever a client sends. If an attempt has no account, the address is used instead: attempts without an
 * account from one address must not count against those from another.
 *
 * @returns `null` if the bucket does not apply to the attempt: it counts only by address, and either the address is not
 * known (all such clients would share one bucket and lock each other out), or the client has proved something better.
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

/**
 * The key of a wider block of addresses; `null` if the address has none, or the client has proved something better.
 */
export function widerKey({ address = null, proof = null }: ThrottleKeys, length: WiderPrefix): string | null {
  const block = proof === null ? widerBlock(address, length) : null;
  return block === null ? null : digest(block);
}

/** The key that all devices of a group are counted under together; `null` if there is no account or device. */
export function devicesKey({ device = null, ...keys }: AttemptKeys): string | null {
  const account = accountKey(keys);
  return account === null || device === null ? null : digest(`${account} devices ${device.group}`);
}

/**
 * Reports whether only the client's own attempts are counted under a key, so that the client may know the count: a
 * count by account alone would tell each client what the others did.
 */
export function isClientsOwn(by: readonly ThrottlePart[], { address = null, proof = null }: ThrottleKeys): boolean {
  return by.includes("address") && (proof !== null || addressBlock(address) !== null);
}
