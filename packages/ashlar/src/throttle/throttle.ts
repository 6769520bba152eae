import type { Events } from "../events/index.ts";
import type { HttpContext } from "../http/index.ts";
import type { Logger } from "../kernel/index.ts";
import { AshlarError, currentDate } from "../support/index.ts";
import {
  type AttemptKeys,
  accountDigest,
  attemptKeys,
  type HitOptions,
  type ThrottleAccounts,
  type ThrottleKeys,
  throttleKey,
} from "./counting/attempt-keys.ts";
import { allFinished, asProof, type CountedAttempt, takeBack } from "./counting/counted-limit.ts";
import { LimitCounts } from "./counting/limit-counts.ts";
import "./errors.ts";
import { type ThrottleResult, tooManyRequests, writeRateLimits } from "./counting/results.ts";
import type {} from "./events.ts";
import type { LimitName } from "./limit-name.ts";
import type { Limit } from "./limits/limit.ts";
import type { CompleteThrottleSettings } from "./settings.ts";
import type { ThrottleStore } from "./stores/store.ts";

/** Options of {@link Throttle.giveBack}. */
export interface GiveBackOptions {
  /** The only attempt to give back: a result of {@link Throttle.hit}. Default: all attempts of the request. */
  readonly attempt?: ThrottleResult;
  /**
   * Which counts to give back: only those by account (if the request may still be part of a flood), or only those by
   * address alone. Default: both.
   */
  readonly only?: "account" | "address";
}

/** The maximum number of attempts in a limit that protects against guessing. */
const MAX_GUESSES_PER_HOUR = 600;

/** How a request was counted under one limit. */
interface CountedRequest {
  readonly limit: string;
  readonly keys: AttemptKeys;
  readonly result: ThrottleResult;
  readonly attempts: readonly CountedAttempt[];
}

/** Remembers how each request was counted, so that exactly those attempts can be given back after a success. */
class CountedRequests {
  readonly #counted = new WeakMap<HttpContext, CountedRequest[]>();

  add(context: HttpContext, counted: CountedRequest): void {
    const before = this.#counted.get(context);
    if (before === undefined) this.#counted.set(context, [counted]);
    else before.push(counted);
  }

  /** The counts of a request, in order. */
  of(context: HttpContext): readonly CountedRequest[] {
    return this.#counted.get(context) ?? [];
  }

  /** The counts of a request under a limit, in order. */
  under(context: HttpContext, limit: string): readonly CountedRequest[] {
    return this.of(context).filter((counted) => counted.limit === limit);
  }

  /** Removes a count, so that it isn't given back twice. */
  settle(context: HttpContext, counted: CountedRequest): void {
    this.#counted.set(
      context,
      this.of(context).filter((one) => one !== counted),
    );
  }
}

/** Reports whether two attempts have the same account and subject; `false` if one has no account. */
function isSameAccount(one: ThrottleKeys, other: ThrottleKeys): boolean {
  const [a, b] = [one, other].map((keys) => throttleKey(["account"], { ...keys, address: null }));
  return a !== null && a === b;
}

/**
 * The application's limits: a number of attempts per window, counted by account and by address.
 *
 * Windows are fixed and begin with the first attempt. Refused attempts don't extend them, so no one is locked out
 * permanently.
 */
export class Throttle {
  /** @internal Where attempts are counted. */
  readonly store: ThrottleStore;
  /** @internal Counts attempts under the limits. */
  readonly counts: LimitCounts;
  readonly #events: () => Events | null;
  readonly #logger: Pick<Logger, "error">;
  readonly #requests = new CountedRequests();
  #accounts: ThrottleAccounts | null = null;
  #requiresAddresses = false;

  /**
   * @param settings the limits
   * @param store where attempts are counted
   * @param events returns the emitter of lockouts; called for each lockout
   * @param logger receives an error if attempts can't be given back
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

  /** Sets how limits identify accounts. Called at boot by the feature with the guards. */
  useAccounts(accounts: ThrottleAccounts): void {
    this.#accounts = accounts;
  }

  /**
   * Makes limits by address refuse requests whose client address is unknown. Otherwise, their attempts without an
   * account wouldn't be counted at all.
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

  /**
   * @internal Reports whether every bucket of a limit lets more attempts pass than are safe for passwords. `false` for
   * anything that isn't a limit's name, such as `@limit`, a path parameter.
   */
  allowsGuessing(name: string): boolean {
    return (
      this.counts.has(name) &&
      this.limit(name).buckets.every(({ attempts, windowSeconds }) => {
        return (attempts * 3600) / windowSeconds > MAX_GUESSES_PER_HOUR;
      })
    );
  }

  /**
   * Counts an attempt and returns whether it passes. It is counted bucket by bucket, up to the first one that refuses
   * it.
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
   * Reports whether an attempt would pass, without counting it.
   *
   * @throws `E_INVALID_CONFIGURATION` if there is no such limit
   */
  async peek(name: LimitName, keys: ThrottleKeys): Promise<ThrottleResult> {
    return await this.counts.peek(name, keys);
  }

  /**
   * Deletes an account's counts after a success of its owner: those by account, and those by account and address.
   * Counts by address alone stay. Otherwise, a client could log in to its own account between attempts, and try other
   * accounts without limit.
   *
   * @throws `E_INVALID_CONFIGURATION` if there is no such limit; errors from the store
   */
  async reset(name: LimitName, keys: ThrottleKeys): Promise<void> {
    await allFinished(this.counts.ofAccount(name, keys).map(async ({ counter, key }) => counter.delete(key)));
  }

  /**
   * Counts a request as an attempt, and throws if it doesn't pass. Controllers and middleware both use this.
   *
   * ```ts
   * await throttle.hit(context, "login", { account: email });
   * ```
   *
   * The response gets `RateLimit-Policy` and `RateLimit`. The first refused attempt of a window emits `auth.lockout`.
   * The address is `request.clientAddress`, not `request.ip()`. If it is unknown, buckets by address alone don't count the
   * request.
   *
   * Security: on a route with the middleware `throttle:login`, the request has already been counted, and calling this
   * as well counts it twice.
   *
   * @throws `E_TOO_MANY_REQUESTS` (429) with `Retry-After` if the attempt doesn't pass; `E_INVALID_CONFIGURATION` if
   * there is no such limit; `E_UNKNOWN_CLIENT` in production, if the limit counts by address and the address is unknown
   */
  async hit(context: HttpContext, name: LimitName, options: HitOptions = {}): Promise<ThrottleResult> {
    const result = await this.attempt(context, name, options);
    if (!result.allowed) throw tooManyRequests(result);
    return result;
  }

  /** @internal Like {@link hit}, but throws only if the account itself refuses the attempt; the result says whether it passes. */
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

  /** @internal Reports whether a request was counted under any limit, and the attempt hasn't been given back. */
  hasCounted(context: HttpContext): boolean {
    return this.#requests.of(context).length > 0;
  }

  /**
   * Refuses a request like {@link hit} if its address has no attempts left; otherwise, it counts nothing. It reads no input,
   * so a client over its limit is refused before the request's body is read.
   *
   * @throws `E_TOO_MANY_REQUESTS`, `E_INVALID_CONFIGURATION`, as {@link hit}
   */
  async refuseByAddress(context: HttpContext, name: LimitName): Promise<void> {
    this.#requireAddress(context, name);
    // Buckets by address alone don't refuse clients with a proof.
    if (this.#accounts?.mayHaveProof(context, name)) return;
    if (await this.counts.hasLeftFor(name, context.request.clientAddress)) return;
    const attempt = await this.hit(context, name, { account: null });
    // The attempt passes after all, because the window has just ended.
    await this.giveBack(context, name, { attempt });
  }

  /**
   * Moves an attempt to its actual account if a route has counted it for another one, such as an account of another guard,
   * or one in an unrelated input. A request that wasn't counted under the limit stays uncounted, unless `always` is set.
   * Guards call this; controllers don't have to.
   *
   * @param always whether to count the request if it wasn't counted yet
   * @throws `E_TOO_MANY_REQUESTS`, as {@link hit}
   */
  async aim(context: HttpContext, name: LimitName, options: HitOptions, always = false): Promise<void> {
    const counted = this.#requests.under(context, name);
    if (counted.length === 0 && !always) return;
    const keys = attemptKeys(context, this.counts.limit(name), options, this.#accounts);
    const hasAccount = throttleKey(["account"], { ...keys, address: null }) !== null;
    // An attempt without an account only needs to be counted by address.
    if (counted.some((one) => !hasAccount || isSameAccount(one.keys, keys))) return;
    await this.giveBack(context, name);
    await this.hit(context, name, options);
  }

  /**
   * Settles a success: deletes the counts of the account that the request has proved to own, and gives back the attempt that
   * was counted by address alone, because those buckets count failures. Nothing else is given back. The guards' `attempt` and
   * `confirmPassword` call it, and so does a password reset. Call it from your own controllers if they verify passwords in
   * another way.
   *
   * If the store fails, that is only logged, because the success has already taken effect. The attempts then count
   * until their window ends.
   *
   * @param others limits under which only this request's attempts are given back, in the same round trip
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
   * Gives back the request's attempts under a limit, because it turned out not to be an attempt. If the store fails, that is
   * only logged, as in {@link clear}.
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

  /** Runs steps that give back or delete counts, one after another, and logs their failures together. */
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
    // Listeners aren't awaited, because they must not delay responses during an attack. The event doesn't wait for a commit,
    // because attempts count even if the transaction around them is rolled back.
    void this.#events()?.happen("auth.lockout", { ...event, account: accountDigest(account) });
  }
}
