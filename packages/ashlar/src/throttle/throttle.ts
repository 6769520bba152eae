import type { Events } from "../events/index.ts";
import type { HttpContext } from "../http/index.ts";
import type { Logger } from "../kernel/index.ts";
import { AshlarError, currentDate, type Duration, type Message } from "../support/index.ts";
import { attemptKeys, type HitOptions, type ThrottleAccounts } from "./counting/accounts.ts";
import {
  allFinished,
  type CountedAttempt,
  CountedRequests,
  isSameAccount,
  takeBack,
} from "./counting/counted-attempts.ts";
import { asProof } from "./counting/counted-limit.ts";
import { LimitCounts } from "./counting/limit-counts.ts";
import "./errors.ts";
import { type ThrottleResult, writeRateLimits } from "./counting/results.ts";
import type {} from "./events.ts";
import type { LimitName } from "./limit-name.ts";
import { accountDigest, type ThrottleKeys, throttleKey } from "./limits/keys.ts";
import type { Limit } from "./limits/limit.ts";
import { message } from "./messages.ts";
import type { CompleteThrottleSettings } from "./settings.ts";
import type { ThrottleStore } from "./stores/store.ts";
import "../http/index.ts";

/** What {@link Throttle.giveBack} gives back. */
export interface GiveBackOptions {
  /** Only what this attempt was counted as: a result of {@link Throttle.hit}. Default: all attempts of the request. */
  readonly attempt?: ThrottleResult;
  /**
   * Only counts by account, or only those by address alone: the former if the request may still be part of a flood.
   * Default: both.
   */
  readonly only?: "account" | "address";
}

/** How many attempts a limit may let pass, if it is to protect what can be guessed. */
const MAX_GUESSES_PER_HOUR = 600;

/**
 * The application's limits: a number of attempts per window, counted by account and by address.
 *
 * Windows are fixed and begin with the first attempt. Refused attempts do not extend them, so no one is locked out for
 * good.
 */
export class Throttle {
  /** @internal Where attempts are counted. */
  readonly store: ThrottleStore;
  /** @internal What counts them. */
  readonly counts: LimitCounts;
  readonly #events: () => Events | null;
  readonly #logger: Pick<Logger, "error">;
  readonly #requests = new CountedRequests();
  #accounts: ThrottleAccounts | null = null;
  #requiresAddresses = false;

  /**
   * @param settings the limits
   * @param store where attempts are counted
   * @param events emits lockouts; called when there is one
   * @param logger gets an error if attempts cannot be given back
   */
  constructor(
    settings: CompleteThrottleSettings,
    store: ThrottleStore,
    events: () => Events | null,
    logger: Pick<Logger, "error">,
  ) {
    this.counts = new LimitCounts(settings.limits.values(), store, settings.sharedNetworks);
    this.store = store;
    this.#events = events;
    this.#logger = logger;
  }

  /** Makes limits count accounts by what identifies them. Called at boot by the feature with the guards. */
  useAccounts(accounts: ThrottleAccounts): void {
    this.#accounts = accounts;
  }

  /**
   * Makes limits by address refuse requests whose client's address is not known, instead of counting without it: then
   * nothing would count what has no account.
   */
  requireAddresses(): void {
    this.#requiresAddresses = true;
  }

  /**
   * Returns a limit by name.
   *
   * @throws `E_INVALID_CONFIGURATION` if there isn't one, with suggestions
   */
  limit(name: string): Limit {
    return this.counts.limit(name);
  }

  /** @internal Reports whether a limit lets more attempts pass than a guessed password should have, in each bucket. */
  allowsGuessing(name: string): boolean {
    return this.limit(name).buckets.every(({ attempts, windowSeconds }) => {
      return (attempts * 3600) / windowSeconds > MAX_GUESSES_PER_HOUR;
    });
  }

  /**
   * Counts an attempt and returns whether it passes. It is counted bucket by bucket, up to the first that refuses it.
   *
   * @param name the name of the limit
   * @param keys whose attempt it is
   * @param cost how many attempts it counts for, at least 1
   * @throws `E_INVALID_CONFIGURATION` if there is no such limit
   */
  async consume(name: LimitName, keys: ThrottleKeys, cost = 1): Promise<ThrottleResult> {
    return (await this.counts.count(name, keys, cost)).result;
  }

  /**
   * Returns whether an attempt would pass, without counting one.
   *
   * @throws `E_INVALID_CONFIGURATION` if there is no such limit
   */
  async peek(name: LimitName, keys: ThrottleKeys): Promise<ThrottleResult> {
    return await this.counts.peek(name, keys);
  }

  /**
   * Forgets the attempts at an account once its owner has succeeded: those counted by account, or by account and
   * address. Counts by address alone stay: otherwise a client could log in to its own account between attempts and try
   * other accounts without limit.
   *
   * @throws `E_INVALID_CONFIGURATION` if there is no such limit; what the store throws
   */
  async reset(name: LimitName, keys: ThrottleKeys): Promise<void> {
    await allFinished(this.counts.ofAccount(name, keys).map(async ({ counter, key }) => counter.delete(key)));
  }

  /**
   * Counts a request as an attempt, and throws if it does not pass. Controllers and middleware both use this.
   *
   * ```ts
   * await throttle.hit(context, "login", { account: email });
   * ```
   *
   * The response gets `RateLimit-Policy` and `RateLimit`. The first refused attempt of a window emits `auth.lockout`.
   * The address is `request.clientAddress`; `request.ip()` is not used. If the address is not known, counts by address
   * leave it out.
   *
   * Security: a route with the middleware `throttle:login` has already counted the request; calling this as well counts
   * it twice.
   *
   * @throws `E_TOO_MANY_REQUESTS` (429) with `Retry-After` if it does not pass; `E_INVALID_CONFIGURATION` if there is no
   * such limit; `E_UNKNOWN_CLIENT` in production, if it counts by address and the address is not known
   */
  async hit(context: HttpContext, name: LimitName, options: HitOptions = {}): Promise<ThrottleResult> {
    const result = await this.attempt(context, name, options);
    if (!result.allowed) throw tooManyRequests(result);
    return result;
  }

  /** @internal The same, but returns whether it passes, unless its account refuses it already. */
  async attempt(context: HttpContext, name: LimitName, options: HitOptions = {}): Promise<ThrottleResult> {
    this.#requireAddress(context, name);
    const keys = attemptKeys(context, this.counts.limit(name), options, this.#accounts);
    const refusal = this.#accounts?.refusal(context, name, keys) ?? null;
    if (refusal !== null) throw refusal;
    const { result, attempts } = await this.counts.count(name, keys, 1);
    this.#requests.add(context, { limit: name, keys, result, attempts });
    const results = this.#requests.of(context).map((one) => one.result);
    writeRateLimits(context.response, results);
    if (result.buckets.some(({ isFirstRefusal }) => isFirstRefusal)) this.#announce(context, name, keys, options);
    return result;
  }

  /** @internal Reports whether a request was counted under any limit, and that has not been given back. */
  hasCounted(context: HttpContext): boolean {
    return this.#requests.of(context).length > 0;
  }

  /**
   * Refuses a request as {@link hit} does if its address has no attempts left, and otherwise counts nothing. It reads no
   * input, so a client over its limit is refused before its body is read.
   *
   * @throws `E_TOO_MANY_REQUESTS`, `E_INVALID_CONFIGURATION`, as {@link hit}
   */
  async refuseByAddress(context: HttpContext, name: LimitName): Promise<void> {
    this.#requireAddress(context, name);
    // Counts by address alone refuse no client that has proved something.
    if (this.#accounts?.mayHaveProof(context, name)) return;
    if (await this.counts.hasLeftFor(name, context.request.clientAddress)) return;
    const attempt = await this.hit(context, name, { account: null });
    // Its window has ended since.
    await this.giveBack(context, name, { attempt });
  }

  /**
   * Moves an attempt to the account that it turns out to be at, if a route has counted it for another one: one guard's
   * attempts are never counted as another's, nor by an input that the attempt has nothing to do with. A request that
   * was not counted under the limit stays uncounted, unless `always`. Guards call this; controllers don't have to.
   *
   * @param always whether to count the request if it was not counted yet
   * @throws `E_TOO_MANY_REQUESTS`, as {@link hit}
   */
  async aim(context: HttpContext, name: LimitName, options: HitOptions, always = false): Promise<void> {
    const counted = this.#requests.under(context, name);
    if (counted.length === 0 && !always) return;
    const keys = attemptKeys(context, this.counts.limit(name), options, this.#accounts);
    const hasAccount = throttleKey(["account"], { ...keys, address: null }) !== null;
    // For an attempt without an account, counting by address is enough.
    if (counted.some((one) => !hasAccount || isSameAccount(one.keys, keys))) return;
    await this.giveBack(context, name);
    await this.hit(context, name, options);
  }

  /**
   * Settles a success: forgets the attempts at the account that the request has proved to own, and gives back the
   * attempt that was counted by address alone, because those buckets count failures. Nothing else is given back. The
   * guards' `attempt` and `confirmPassword` call it, and so does a password reset; call it from your own controllers if
   * they verify passwords in another way.
   *
   * If the store fails, that is only logged: the success has already taken effect. The attempts then count until their
   * window ends.
   *
   * @param others limits under which only the attempts of this request are given back, in the same round trip
   * @throws `E_INVALID_CONFIGURATION` if there is no such limit
   */
  async clear(
    context: HttpContext,
    name: LimitName,
    options: HitOptions = {},
    others: readonly LimitName[] = [],
  ): Promise<void> {
    const keys = asProof(attemptKeys(context, this.counts.limit(name), options, this.#accounts));
    const own = this.#requests.under(context, name).filter((one) => isSameAccount(one.keys, keys));
    const beside = others.flatMap((other) => this.#requests.under(context, other));
    const forgotten = this.counts.ofAccount(name, keys);
    const isForgotten = ({ bucket, key }: CountedAttempt): boolean => {
      return forgotten.some((one) => one.bucket === bucket && one.key === key);
    };
    const counted = own.flatMap(({ attempts }) => attempts);
    const uncounted = forgotten.filter(({ bucket, key }) => {
      return !counted.some((one) => one.bucket === bucket && one.key === key);
    });
    for (const one of [...own, ...beside]) this.#requests.settle(context, one);
    await this.#settle(name, [
      () => takeBack(this.store, [...counted, ...beside.flatMap(({ attempts }) => attempts)], 1, isForgotten),
      async () => void (await allFinished(uncounted.map(async ({ counter, key }) => counter.delete(key)))),
    ]);
  }

  /**
   * Gives back what the request was counted as under a limit, because it turned out not to be an attempt. If the store
   * fails, that is only logged, as in {@link clear}.
   */
  async giveBack(context: HttpContext, name: LimitName, { attempt, only }: GiveBackOptions = {}): Promise<void> {
    const isGivenBack = ({ isOfAccount }: CountedAttempt): boolean => {
      return only === undefined || isOfAccount === (only === "account");
    };
    const counted = this.#requests.under(context, name);
    const some = counted.filter(({ result }) => attempt === undefined || result === attempt);
    for (const one of some) this.#requests.settle(context, one);
    const attempts = some.flatMap((one) => one.attempts).filter(isGivenBack);
    await this.#settle(name, [() => takeBack(this.store, attempts)]);
  }

  /** Gives back or deletes, one after the other. Failures are logged together. */
  async #settle(name: string, steps: readonly (() => Promise<void>)[]): Promise<void> {
    const failures: unknown[] = [];
    for (const step of steps) await step().catch((error: unknown) => failures.push(error));
    if (failures.length === 0) return;
    const sentence = "Attempts could not be given back. They count until their window ends.";
    this.#logger.error({ err: failures[0], limit: name }, sentence);
  }

  /** @throws `E_UNKNOWN_CLIENT` */
  #requireAddress({ request }: HttpContext, name: LimitName): void {
    if (!this.#requiresAddresses || request.clientAddress !== null) return;
    if (!this.counts.limit(name).buckets.some(({ by }) => by.includes("address"))) return;
    throw new AshlarError(
      "E_UNKNOWN_CLIENT",
      `The limit "${name}" counts by address, and the request came without its client's. Behind a unix socket, the proxy must ` +
        "set X-Forwarded-For, and TRUSTED_PROXIES must contain unix. Elsewhere, pass the address of the socket " +
        "where the host calls the application: application.fetch(request, { address }). If it can't be known, and something " +
        'in front of the application limits requests, set APP.clientAddress to "unknown" in config/app.ts.',
    );
  }

  #announce(context: HttpContext, limit: string, { account, address = null }: ThrottleKeys, options: HitOptions): void {
    const guard = options.guard ?? (this.limit(limit).ofAccounts ? (this.#accounts?.guardOf(context) ?? null) : null);
    const event = { time: currentDate(), address, guard, user: context.currentUser, limit };
    // Listeners are not awaited: they must not delay responses under attack. Attempts count in a transaction that is rolled
    // back too.
    void this.#events()?.happen("auth.lockout", { ...event, account: accountDigest(account) });
  }
}

/** The error for an attempt that does not pass. */
export function tooManyRequests({ resetInSeconds, buckets }: ThrottleResult, sentence?: Message): AshlarError {
  // Behind one address, there may be a whole campus: most of its visitors have tried nothing.
  const refusing = buckets.filter(({ allowed }) => !allowed);
  const isNetworks = refusing.length > 0 && refusing.every(({ isOfNetwork }) => isOfNetwork);
  const key = isNetworks ? "throttle.waitForNetwork" : "throttle.wait";
  const said = sentence ?? message(key, { wait: waitOf(resetInSeconds) });
  return new AshlarError("E_TOO_MANY_REQUESTS", said, {
    headers: { "Retry-After": String(resetInSeconds) },
  });
}

/** A duration in words, rounded up so that it has passed by then. */
export function waitOf(seconds: number): Duration {
  return seconds < 120 ? { seconds } : { minutes: Math.ceil(seconds / 60) };
}
