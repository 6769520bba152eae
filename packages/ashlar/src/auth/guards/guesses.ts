import type { HttpContext } from "../../http/index.ts";
import { AshlarError, now } from "../../support/index.ts";
import { tooManyRequests, waitOf } from "../../throttle/index.ts";
import { ACCOUNT_LIMIT, PASSWORD_LIMIT } from "../limits.ts";
import { message } from "../messages.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import type { GuessedAccount } from "./guessed-accounts.ts";
import "../../http/index.ts";

/** What devices are called together that were known before access to an account last ended. */
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
 * over all addresses, guards and ways to try a password; and two hashes at once in this process. Every comparison goes
 * through here, whether or not its route has a limit.
 *
 * An account is counted by the identifier that was sent, whether or not there is one: otherwise, an account that is
 * made or deleted in the meantime would have another budget, and the responses would reveal it.
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
    // Devices from before access ended have one budget together: who had the password then has any number of them.
    proof: account?.device ?? null,
  });
  const isUsedUp = result.buckets.some(({ allowed }) => !allowed);
  // Not by the first refusal alone: the warning would be lost if it could not be stored then.
  const { warnings, refused } = auth.registry.guesses;
  const isPromised =
    isUsedUp && account !== null && ((await warnings?.promise(context, guard, user, account.name)) ?? false);
  if (result.allowed) return;
  const wait = waitOf(result.resetInSeconds);
  const isMailed = isPromised && warnings?.hasLinkHere(guard) === true;
  const sentence = message(isMailed ? "auth.guesses.mailed" : "auth.guesses.usedUp", { wait });
  const isUnknown = account !== null && account.device === null && !account.isFormerDevice;
  const refusal = () => tooManyRequests(result, sentence);
  if (isUnknown) refused.add(account.name, result.resetInSeconds, refusal);
  throw refusal();
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

/** Two hashes take some 20 ms. */
function busy(): AshlarError {
  return new AshlarError("E_TOO_MANY_REQUESTS", message("auth.guesses.busy"), { headers: { "Retry-After": "1" } });
}

/**
 * The maximum time that a refusal is remembered: a process may learn that much later that the account allows a guess
 * again.
 */
const REMEMBERED_MS = 1000;
/** How many accounts are remembered. The first that was refused is forgotten first. */
const MAX_ACCOUNTS = 10_000;

/**
 * The accounts whose guesses this process has just refused. The next one from an unknown device is refused without a
 * statement, so a storm at one account costs others next to nothing.
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
   * @param seconds when it allows a guess again
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
