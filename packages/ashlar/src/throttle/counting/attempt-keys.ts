import ipaddr from "ipaddr.js";
import { canonicalAddress, type HttpContext } from "../../http/index.ts";
import { digest, normalizeEmail } from "../../security/index.ts";
import type { AshlarError } from "../../support/index.ts";
import type { Limit, ThrottlePart } from "../limits/limit.ts";

/** Whose attempts are counted. */
export interface ThrottleKeys {
  /**
   * The account's identifier: an email address, a user name, a primary key; `null` if the attempt isn't at an account.
   */
  readonly account?: string | null;
  /**
   * The set of accounts that `account` belongs to. With a realm, the identifier is compared exactly, and the same text
   * in another realm means another account. `null` if no guard is involved, in which case email addresses are
   * normalized.
   */
  readonly realm?: string | null;
  /** The client's address; `null` if it is unknown. */
  readonly address?: string | null;
  /**
   * The client's proof of a connection to the account, such as a device that the account was used on before. Attempts are
   * counted by the proof instead of the address.
   */
  readonly proof?: string | null;
  /**
   * The part of the account that is being attacked, such as the code of one login step. Each part is counted
   * separately. `null` for the account as a whole.
   */
  readonly subject?: string | null;
}

/** Whose attempts are counted, according to a request. */
export interface AttemptKeys extends ThrottleKeys {
  /**
   * A device that the account was used on before. Like a proof, it is counted instead of the address, but all devices of
   * its group also share a limit, because each login can create another device.
   */
  readonly device?: CountedDevice | null;
}

/** A device that an account was used on before. */
export interface CountedDevice {
  /** The text that the device's attempts are counted under. It changes when access to the account ends. */
  readonly id: string;
  /** A text that is the same for all devices on which the account has been used since access to it last ended. */
  readonly group: string;
}

/** How a limit identifies an account. */
export interface AccountIdentity {
  /** The set of accounts that it belongs to: those of one class of users, through any guard. */
  readonly realm: string;
  /**
   * The account's identifier in that set, in the form used for lookups; `null` if no account can have this identifier.
   */
  readonly account: string | null;
  /** The client's proof of a connection to the account, counted instead of the address; `null` if it has none. */
  readonly proof?: string | null;
  /** The client's device, if the account was used on it before; `null` if it was not. */
  readonly device?: CountedDevice | null;
}

/** An account as named in a request. */
export interface NamedAccount {
  /** The name of the limit. */
  readonly limit: string;
  /** The name of the guard. */
  readonly guard: string;
  /** The account's identifier, as it was sent. */
  readonly identifier: string;
}

/** Identifies the application's accounts for limits that count by account. Registered by the feature with the guards. */
export interface ThrottleAccounts {
  /** The name of the active guard of a request; `null` if the application has no guards. */
  guardOf(context: HttpContext): string | null;
  /** The account that a request names. It is never looked up: an unknown account is counted like any other. */
  named(context: HttpContext, named: NamedAccount): AccountIdentity;
  /** Whether a proof or a known device may turn up once the request's inputs are read; `false` if that's impossible. */
  mayHaveProof(context: HttpContext, limit: string): boolean;
  /**
   * The error to refuse an attempt with, without counting it, because the account currently accepts none; `null` to
   * count the attempt.
   */
  refusal(context: HttpContext, limit: string, keys: AttemptKeys): AshlarError | null;
  /** How a limit identifies the account of a guard's user; `null` if there is no such guard. */
  ofUser(context: HttpContext, guard: string, user: object, limit: string): AccountIdentity | null;
}

/** Who makes the attempt, if it isn't the account in the limit's input. */
export interface HitOptions {
  /**
   * The account's identifier, such as an email address; anything but text means no account. Default: the input named in
   * the limit's configuration, or if the limit has none, the logged-in user.
   */
  readonly account?: unknown;
  /** The user whose account it is, regardless of inputs; `null` means no account. */
  readonly user?: object | null;
  /** The name of the guard that receives the attempt; default: the active guard. */
  readonly guard?: string;
  /**
   * The client's proof of a connection to the account, such as a token that was issued to it. It is counted instead of
   * the address, and buckets that count only by address neither refuse nor count the attempt.
   *
   * Security: a client must not be able to make it up, because each made-up proof would get its own set of attempts.
   */
  readonly proof?: string | null;
  /**
   * The part of the account that is being attacked, such as the code of one login step. Each part is counted
   * separately. Default: the account as a whole.
   */
  readonly subject?: string | null;
}

/** Returns the keys that a limit counts a request under. */
export function attemptKeys(
  context: HttpContext,
  limit: Limit,
  options: HitOptions,
  accounts: ThrottleAccounts | null,
): AttemptKeys {
  const address = context.request.clientAddress;
  const identity = identify(context, limit, options, accounts);
  const proof = options.proof ?? identity.proof ?? null;
  const { subject = null } = options;
  return { address, ...identity, proof, device: proof === null ? (identity.device ?? null) : null, subject };
}

function identify(
  context: HttpContext,
  limit: Limit,
  options: HitOptions,
  accounts: ThrottleAccounts | null,
): AttemptKeys {
  const guard = options.guard ?? accounts?.guardOf(context) ?? null;
  const named = options.user === undefined ? namedAccount(context, limit, options) : null;
  if (named === null) {
    const user = options.user === undefined ? context.currentUser : options.user;
    return user === null ? {} : identifyUser(context, limit, user, guard, accounts);
  }
  if (typeof named !== "string") return {};
  if (guard === null || accounts === null) return { account: named };
  const identity = accounts.named(context, { limit: limit.name, guard, identifier: named });
  // An application's own limit may count by an input that is unrelated to accounts.
  return identity.account === null && !limit.ofAccounts ? { account: named } : identity;
}

function identifyUser(
  context: HttpContext,
  limit: Limit,
  user: object,
  guard: string | null,
  accounts: ThrottleAccounts | null,
): AttemptKeys {
  const identity = guard === null ? null : accounts?.ofUser(context, guard, user, limit.name);
  return identity ?? { account: userAccount(user) };
}

/** The account's identifier in the request or the options; `null` if the limit doesn't use one, or none was sent. */
function namedAccount(context: HttpContext, { account }: Limit, options: HitOptions): unknown {
  if (options.account !== undefined) return options.account ?? false;
  return account === null ? null : readInput(context, account);
}

/**
 * Represents the account of a user whom no guard identifies. It contains a space, so it can't equal an email address.
 */
function userAccount(user: object): string | null {
  const { authId } = user as { readonly authId?: () => unknown };
  return typeof authId === "function" ? `user ${String(authId.call(user))}` : null;
}

function readInput(context: HttpContext, name: string): unknown {
  try {
    return context.request.input(name);
  } catch {
    // A body that can't be parsed counts as an attempt too. The next code that reads an input reports the problem.
    return null;
  }
}

/** The maximum length of an identifier that is used, in UTF-16 code units. No account has a longer one. */
const MAX_IDENTIFIER_LENGTH = 1024;

/**
 * The digest of an account in `auth.lockout`: 43 characters that do not reveal the identifier. An email address is
 * digested in the form in which it is stored, everything else unchanged.
 *
 * @param identifier an email address, a user name, or a primary key
 * @returns `null` if it is blank or not text
 */
export function accountDigest(identifier: unknown): string | null {
  if (typeof identifier !== "string") return null;
  const text = identifier.slice(0, MAX_IDENTIFIER_LENGTH);
  return text.trim() === "" ? null : digest(normalizeEmail(text) ?? text);
}

/**
 * The block of addresses by which attempts are counted: a complete IPv4 address, or the first 64 bits of an IPv6
 * address, because a client usually has all addresses in such a block.
 *
 * @returns `null` if it is not an address
 */
export function addressBlock(address: string | null): string | null {
  const canonical = address === null ? null : canonicalAddress(address);
  return canonical === null || !canonical.includes(":") ? canonical : prefixOf(canonical, 64);
}

/**
 * A larger block that contains an IPv6 address. Providers often assign a whole block to one customer.
 *
 * @param length the length of the block's prefix, in bits
 * @returns `null` if it is not an IPv6 address
 */
export function widerBlock(address: string | null, length: WiderPrefix): string | null {
  const canonical = address === null ? null : canonicalAddress(address);
  return canonical === null || !canonical.includes(":") ? null : prefixOf(canonical, length);
}

/** The prefix lengths by which IPv6 addresses are counted in addition to 64 bits. */
export type WiderPrefix = 56 | 48;

function prefixOf(address: string, length: 64 | WiderPrefix): string {
  const parts = ipaddr.IPv6.parse(address).parts.slice(0, length === 48 ? 3 : 4);
  if (length === 56) parts[3] = parts[3]! & 0xff_00;
  return `${parts.map((part) => part.toString(16)).join(":")}::/${length}`;
}

/** Reports whether an attempt has an account. */
export function hasAccount(keys: ThrottleKeys): boolean {
  return accountKey(keys) !== null;
}

/** The digest of the account, including the part of it that is being attacked. */
function accountKey({ account = null, realm = null, subject = null }: ThrottleKeys): string | null {
  const isOfRealm = realm !== null && account !== null;
  const whole = isOfRealm ? digest(`${realm}\0${account.slice(0, MAX_IDENTIFIER_LENGTH)}`) : accountDigest(account);
  return whole === null || subject === null ? whole : digest(`${whole} ${subject}`);
}

/**
 * The key under which a bucket counts. It is a digest, so stores contain no addresses in plain text, and all keys have
 * the same length. Attempts without an account are counted by address, so that clients can't use up each other's
 * attempts.
 *
 * @returns `null` if the bucket doesn't apply to the attempt: it counts only by address, and either the address is unknown
 * (all such clients would share one count and lock each other out), or the client has a proof.
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
 * The key of a wider block of addresses; `null` if the address has none, or the client has a proof.
 */
export function widerKey({ address = null, proof = null }: ThrottleKeys, length: WiderPrefix): string | null {
  const block = proof === null ? widerBlock(address, length) : null;
  return block === null ? null : digest(block);
}

/** The key shared by a group's devices; `null` if there is no account or device. */
export function devicesKey({ device = null, ...keys }: AttemptKeys): string | null {
  const account = accountKey(keys);
  return account === null || device === null ? null : digest(`${account} devices ${device.group}`);
}

/**
 * Returns whether a key counts only the client's own attempts, so that the client may see the count. A count by account
 * alone would reveal what other clients did.
 */
export function isClientsOwn(by: readonly ThrottlePart[], { address = null, proof = null }: ThrottleKeys): boolean {
  return by.includes("address") && (proof !== null || addressBlock(address) !== null);
}
