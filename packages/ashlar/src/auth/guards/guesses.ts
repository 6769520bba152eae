import type { HttpContext } from "../../http/index.ts";
import { AshlarError, now } from "../../support/index.ts";
import { tooManyRequests, waitOf } from "../../throttle/index.ts";
import { accessEpochOf } from "../access/access-epoch.ts";
import { ACCOUNT_LIMIT, PASSWORD_LIMIT } from "../limits.ts";
import type { KnownDevices, RememberedAccount } from "../logins/devices.ts";
import { message } from "../messages.ts";
import { accountName, identifierOf, identifiersOf } from "../passwords/verify-credentials.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import type { GuardRegistry } from "./guard-registry.ts";
import "../../http/index.ts";

/** The common name of devices that were known before access to the account last ended. */
const FORMER_DEVICES = "former devices";

/** A password that is about to be compared with an account's. */
export interface Guess {
  /** The name of the guard that it was sent to. */
  readonly guard: string;
  /** The account; `null` if there isn't one. */
  readonly user: Authenticatable | null;
  /** The identifier that was sent, in its normal form; `null` if there wasn't one, or the user is the request's own. */
  readonly identifier: string | null;
}

/**
 * Compares a password with an account's, within what the account allows: a number of wrong ones from unknown devices,
 * over all addresses, guards and ways to try a password; and at most two concurrent hashes in this process. Every
 * comparison goes through here, whether or not its route has a limit.
 *
 * Guesses are counted by the identifier that was sent, whether or not the account exists. Otherwise, an account that is
 * created or deleted in the meantime would have another budget, and the responses would reveal it.
 *
 * @param compare hashes the password
 * @throws `E_TOO_MANY_REQUESTS`; what `compare` throws: then no password was tried, and the attempt is given back
 */
export async function comparePassword<T>(context: HttpContext, guess: Guess, compare: () => Promise<T>): Promise<T> {
  const { auth } = context;
  auth.registry.unlimitedRoutes?.check(context, "throttle:login");
  const account = guessedAccount(context, guess);
  if (account === null) return unlessUntried(context, compare);
  const device = account.device ?? (account.isFormerDevice ? FORMER_DEVICES : null);
  const end = await auth.registry.guesses.hashes.begin(account.name, device);
  if (end === null) return unlessUntried(context, async () => Promise.reject(busy()));
  try {
    await count(context, guess, account);
    return await unlessUntried(context, compare);
  } finally {
    end();
  }
}

/**
 * Counts a guess at an account's password, before it is compared.
 *
 * @throws `E_TOO_MANY_REQUESTS` if the account allows no more
 */
export async function countGuess(context: HttpContext, guess: Guess): Promise<void> {
  await count(context, guess, guessedAccount(context, guess));
}

/**
 * The error for a guess of an unknown device that the account refuses at this moment, as this process already knows: in
 * that case, neither the account nor the address is counted.
 *
 * @param account its name
 */
export function refusedAtOnce({ auth }: HttpContext, account: string): AshlarError | null {
  const { hashes, refused } = auth.registry.guesses;
  return hashes.isBusy(account) ? busy() : refused.of(account);
}

function guessedAccount(context: HttpContext, { guard, user, identifier }: Guess): GuessedAccount | null {
  return context.auth.registry.guesses.of(context, guard, user, identifier);
}

async function count(
  context: HttpContext,
  { guard, user, identifier }: Guess,
  account: GuessedAccount | null,
): Promise<void> {
  const { auth } = context;
  if (auth.throttle === null) return;
  const result = await auth.throttle.attempt(context, ACCOUNT_LIMIT, {
    guard,
    ...(identifier === null ? { user } : { account: identifier }),
    // Devices from before access ended share one budget: an attacker who had the password then may have any number of them.
    proof: account?.device ?? null,
  });
  const isUsedUp = result.buckets.some(({ allowed }) => !allowed);
  // Called at each refusal, not only the first, so that the warning isn't lost if it can't be stored that time.
  const { warnings, refused } = auth.registry.guesses;
  const isPromised =
    isUsedUp && account !== null && ((await warnings?.promise(context, guard, user, account.name)) ?? false);
  if (result.allowed) return;
  const wait = waitOf(result.resetInSeconds);
  const isMailed = isPromised && warnings?.hasLinkHere(guard) === true;
  const sentence = message(isMailed ? "auth.guesses.mailed" : "auth.guesses.usedUp", { wait });
  const refusal = () => tooManyRequests(result, sentence);
  if (isOnUnknownDevice(account)) refused.add(account.name, result.resetInSeconds, refusal);
  throw refusal();
}

function isOnUnknownDevice(account: GuessedAccount | null): account is GuessedAccount {
  return account !== null && account.device === null && !account.isFormerDevice;
}

/**
 * Waits for the check of a password. If the check itself fails, for example on a machine that is too busy to hash, no
 * password was tried: the account gets the attempt back, so that its owner is not locked out. Limits by address still
 * count the request.
 *
 * @throws the check's errors
 */
async function unlessUntried<T>(context: HttpContext, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    const { throttle } = context.auth;
    await throttle?.giveBack(context, PASSWORD_LIMIT, { only: "account" });
    await throttle?.giveBack(context, ACCOUNT_LIMIT);
    throw error;
  }
}

/**
 * Gives the account of a user who has proved the password its attempts back, under each name that the user can log in
 * with.
 */
export async function clearGuesses(context: HttpContext, guard: string, user: object): Promise<void> {
  const { registry, throttle } = context.auth;
  // Only gives back its own attempt at the account; otherwise, each login by the owner would allow more guesses.
  await throttle?.clear(context, PASSWORD_LIMIT, { guard, user }, [ACCOUNT_LIMIT]);
  const { email } = user as { readonly email?: unknown };
  if (typeof email !== "string" || registry.modelOf(guard)?.identifiesByEmail !== true) return;
  await throttle?.clear(context, PASSWORD_LIMIT, { guard, account: email });
}

/** Two hashes take some 20 ms. */
function busy(): AshlarError {
  return new AshlarError("E_TOO_MANY_REQUESTS", message("auth.guesses.busy"), { headers: { "Retry-After": "1" } });
}

/**
 * The maximum time for which a refusal is remembered. A process may notice up to this much later that the account
 * allows guesses again.
 */
const REMEMBERED_MS = 1000;
/** How many accounts are remembered. The first that was refused is forgotten first. */
const MAX_ACCOUNTS = 10_000;

/**
 * The accounts whose guesses this process has just refused. The next one from an unknown device is refused without a
 * statement, so a flood of guesses at one account costs others next to nothing.
 *
 * Security: a remembered refusal can only refuse, never admit; it doesn't apply to known devices.
 */
export class RefusedGuesses {
  readonly #accounts = new Map<string, { readonly until: number; readonly error: () => AshlarError }>();

  /** How many accounts are remembered. */
  get size(): number {
    return this.#accounts.size;
  }

  /**
   * @param account a text that names it
   * @param seconds how long until the account allows a guess again, in seconds
   * @param error makes the error that refuses one
   */
  add(account: string, seconds: number, error: () => AshlarError): void {
    this.#accounts.delete(account);
    if (this.#accounts.size >= MAX_ACCOUNTS) this.#accounts.delete(this.#accounts.keys().next().value!);
    this.#accounts.set(account, { until: now() + Math.min(REMEMBERED_MS, seconds * 1000), error });
  }

  /** The error that refuses another guess at an account; `null` if it has to be counted. */
  of(account: string): AshlarError | null {
    const refused = this.#accounts.get(account);
    if (refused === undefined) return null;
    if (now() < refused.until) return refused.error();
    this.#accounts.delete(account);
    return null;
  }
}

/** The account that a password is compared with. */
export interface GuessedAccount {
  /** A text that names it by the identifier that was sent, or else by its user's own. */
  readonly name: string;
  /** An identifier of the device that the password comes from, if the account is used on it; otherwise `null`. */
  readonly device: string | null;
  /** Whether the account was used on the device before access to it last ended, and not since. */
  readonly isFormerDevice: boolean;
}

/** Notifies the owners of accounts about guesses. */
export interface GuessWarnings {
  /**
   * Reports whether a mail to the owner of one of a guard's accounts has a link that lets a device in at the running
   * code's host.
   */
  hasLinkHere(guard: string): boolean;
  /**
   * Promises a mail to the owner of an account, and as much work for one that does not exist. Called with each refusal, it
   * does so only now and then.
   *
   * @param account the account's name, whether or not there is one
   * @returns `false` if it could not be promised: the next call tries again
   */
  promise(context: HttpContext, guard: string, user: Authenticatable | null, account: string): Promise<boolean>;
}

/**
 * The accounts whose passwords are being guessed: the keys that guesses are counted under, and what this process and
 * browsers know about the accounts.
 */
export class GuessedAccounts {
  readonly #registry: Pick<GuardRegistry, "modelOf" | "realmOf">;
  /** The passwords that are being hashed, by account. */
  readonly hashes: AccountHashes = new AccountHashes();
  /** The accounts whose guesses were just refused. */
  readonly refused: RefusedGuesses = new RefusedGuesses();
  /** The devices on which accounts were used, according to their browsers; `null` if no guard keeps logins. */
  devices: KnownDevices | null = null;
  /** Warns the owners of accounts whose guesses unknown devices have used up; `null` if there are no such mails. */
  warnings: GuessWarnings | null = null;

  /** @param registry identifies the users of each guard */
  constructor(registry: Pick<GuardRegistry, "modelOf" | "realmOf">) {
    this.#registry = registry;
  }

  /**
   * The key under which guesses at an account are counted. It has the name of the identifier that was sent, whether or
   * not there is an account: a name by the primary key would change with a registration, and so reveal it.
   *
   * @returns `null` if no account can have the identifier
   */
  of(
    context: HttpContext,
    guard: string,
    user: Authenticatable | null,
    identifier: string | null,
  ): GuessedAccount | null {
    const realm = this.#registry.realmOf(guard);
    const model = this.#registry.modelOf(guard);
    const counted = identifier ?? (user === null || model === null ? null : identifierOf(user, model));
    if (counted === null) return null;
    const name = accountName(realm, counted);
    const account = user === null ? null : this.remembered(guard, user);
    const device = account === null ? null : (this.devices?.currentOf(context, account) ?? null);
    const isKnown = this.devices !== null && this.devices.deviceOf(context, name) !== null;
    return { name, device, isFormerDevice: device === null && isKnown };
  }

  /**
   * A user's account in the form in which devices remember it, by each of the user's identifiers. `null` if no guard
   * has this name.
   */
  remembered(guard: string, user: Authenticatable): RememberedAccount | null {
    const model = this.#registry.modelOf(guard);
    if (model === null) return null;
    const realm = this.#registry.realmOf(guard);
    const names = identifiersOf(user, model).map((identifier) => accountName(realm, identifier));
    return { names, epoch: accessEpochOf(user) };
  }

  /**
   * Makes the device of a request known to an account whose mailbox the request has proved.
   *
   * @param proof the proof, if all devices that it makes known count as one; `null` if each counts separately
   */
  allowDevice(context: HttpContext, guard: string, user: Authenticatable, proof: string | null): void {
    const account = this.remembered(guard, user);
    if (account !== null) this.devices?.allow(context, account, proof);
  }
}

/** How many hashes an account may occupy at once in this process. */
const MAX_AT_ONCE = 2;
/** How many attempts from one known device may wait for one of them. */
const MAX_WAITING = 2;

interface Account {
  running: number;
  /** The attempts from known devices that wait, in order. */
  readonly waiting: { readonly device: string; readonly start: () => void }[];
}

/**
 * The passwords that are being hashed, by account: at most two per account at once. More are refused without hashing,
 * so that guesses at one account don't block logins to others. An attempt from a device that the account was used on
 * before waits instead, ahead of all others.
 *
 * Security: whether the account exists makes no difference.
 */
export class AccountHashes {
  readonly #accounts = new Map<string, Account>();

  /** How many accounts have hashes that run or wait. */
  get size(): number {
    return this.#accounts.size;
  }

  /** Reports whether an attempt that can't wait would be refused. */
  isBusy(account: string): boolean {
    return (this.#accounts.get(account)?.running ?? 0) >= MAX_AT_ONCE;
  }

  /**
   * Waits until the account may hash one more.
   *
   * @param account a text that names it
   * @param device a text that names the known device that the attempt comes from; `null` if it comes from an unknown
   * device, and so can't wait
   * @returns a function that ends the attempt; `null` if the attempt is refused
   */
  async begin(account: string, device: string | null): Promise<(() => void) | null> {
    const state = this.#accounts.get(account) ?? { running: 0, waiting: [] };
    this.#accounts.set(account, state);
    if (state.running < MAX_AT_ONCE) state.running++;
    else if (device === null || waitingOf(state, device) >= MAX_WAITING) return null;
    else await new Promise<void>((start) => state.waiting.push({ device, start }));
    return () => this.#end(account, state);
  }

  /** The first waiting attempt replaces the ended attempt, so that no other can come in between. */
  #end(account: string, state: Account): void {
    const next = state.waiting.shift();
    if (next !== undefined) {
      next.start();
      return;
    }
    state.running--;
    if (state.running === 0) this.#accounts.delete(account);
  }
}

function waitingOf({ waiting }: Account, device: string): number {
  return waiting.filter((one) => one.device === device).length;
}
