import type { Events } from "../events/index.ts";
import type { HttpContext } from "../http/index.ts";
import { AshlarError, ConfigurationError, counted, currentDate, suggestion } from "../support/index.ts";
import type { Bucket, Limit, ThrottleConfiguration } from "./configuration.ts";
import { isAccountLimit } from "./default-limits.ts";
import type {} from "./events.ts";
import { accountDigest, type ThrottleKeys, throttleKey } from "./keys.ts";
import { policyOf, writeRateLimit } from "./rate-limit-headers.ts";
import { type BucketResult, countedResult, peekedResult, summarize, type ThrottleResult } from "./result.ts";
import type { AttemptCounter, ThrottleStore } from "./store.ts";

/** Says whose attempt a hit is, where the limit's own input does not. */
export interface HitOptions {
  /**
   * What the account is called, such as an e-mail address; anything but text is none. Where left out, it is the input
   * that the limit's configuration names, and where that is none either, the user that the request is logged in as.
   */
  readonly account?: unknown;
  /**
   * The name of the guard that the attempt is made at, for `auth.lockout`. Where left out, it is the guard in force, if
   * the limit is one of those that the framework has for accounts, and otherwise none.
   */
  readonly guard?: string;
}

/** Gives the name of the guard in force for a request; `null` where there is none. */
export type GuardNamer = (context: HttpContext) => string | null;

interface CountedBucket {
  readonly bucket: Bucket;
  readonly counter: AttemptCounter;
}

interface CountedLimit {
  readonly limit: Limit;
  /** The value of `RateLimit-Policy`. */
  readonly policy: string;
  readonly buckets: readonly CountedBucket[];
}

/**
 * The application's limits: so many attempts in such a time, counted by account and by address.
 *
 * Windows are fixed and begin with the first attempt. An attempt that is refused does not prolong them, so nobody is
 * locked out for good.
 */
export class Throttle {
  readonly #limits: ReadonlyMap<string, CountedLimit>;
  readonly #events: () => Events | null;
  #guardInForce: GuardNamer = () => null;

  /**
   * @param configuration the limits
   * @param store where attempts are counted
   * @param events who is told of lockouts; asked when there is one
   */
  constructor(configuration: ThrottleConfiguration, store: ThrottleStore, events: () => Events | null) {
    const limits = [...configuration.limits.values()].map((limit) => countedLimit(limit, store));
    this.#limits = new Map(limits.map((counted) => [counted.limit.name, counted]));
    this.#events = events;
  }

  /** Has `auth.lockout` name the guard in force. Called when the application boots, by what knows the guards. */
  nameGuardsBy(guardInForce: GuardNamer): void {
    this.#guardInForce = guardInForce;
  }

  /**
   * The limit of a name.
   *
   * @throws `E_INVALID_CONFIGURATION` where there is none, naming the near ones
   */
  limit(name: string): Limit {
    return this.#find(name).limit;
  }

  /**
   * Counts an attempt, and says whether it passes. It is counted bucket by bucket, up to the first that refuses it.
   *
   * @param name the name of the limit
   * @param keys whose attempt it is
   * @param cost how many attempts it counts for, at least 1
   * @throws `E_INVALID_CONFIGURATION` where there is no such limit
   */
  async consume(name: string, keys: ThrottleKeys, cost = 1): Promise<ThrottleResult> {
    const { buckets } = this.#find(name);
    if (!Number.isSafeInteger(cost) || cost < 1) {
      throw new AshlarError("E_INTERNAL", `An attempt cannot count for ${cost}: it is a whole number from 1 on.`);
    }
    const results: BucketResult[] = [];
    for (const { bucket, counter } of buckets) {
      const result = countedResult(bucket, await counter.add(throttleKey(bucket.by, keys), cost), cost);
      results.push(result);
      if (!result.allowed) break;
    }
    return summarize(results);
  }

  /**
   * Says whether an attempt would pass, without counting one.
   *
   * @throws `E_INVALID_CONFIGURATION` where there is no such limit
   */
  async peek(name: string, keys: ThrottleKeys): Promise<ThrottleResult> {
    const { buckets } = this.#find(name);
    const results = buckets.map(async ({ bucket, counter }) => {
      return peekedResult(bucket, await counter.get(throttleKey(bucket.by, keys)));
    });
    return summarize(await Promise.all(results));
  }

  /**
   * Forgets the attempts at an account, once its owner has shown up: those that are counted by account, or by account and
   * address. What is counted by address alone stays: whoever logs in to an account of his own between two attempts
   * would otherwise have any number of them at the accounts of others.
   *
   * @throws `E_INVALID_CONFIGURATION` where there is no such limit
   */
  async reset(name: string, keys: ThrottleKeys): Promise<void> {
    const { buckets } = this.#find(name);
    if (accountDigest(keys.account) === null) return;
    const ofAccount = buckets.filter(({ bucket }) => bucket.by.includes("account"));
    await Promise.all(ofAccount.map(({ bucket, counter }) => counter.delete(throttleKey(bucket.by, keys))));
  }

  /**
   * Counts a request as an attempt, and lets it pass or not. The one function for controllers and middleware.
   *
   * ```ts
   * await throttle.hit(context, "login", { account: email });
   * ```
   *
   * The answer carries `RateLimit-Policy` and `RateLimit`. The first attempt of a window to be refused emits
   * `auth.lockout`. The address is the socket's, or what trusted proxies say; `request.ip()` plays no part.
   *
   * Security: a route with the middleware `throttle:login` has counted the request already; counted here as well, it
   * counts twice.
   *
   * @throws `E_TOO_MANY_REQUESTS` (429) with `Retry-After` where it does not pass; `E_INVALID_CONFIGURATION` where
   * there is no such limit
   */
  async hit(context: HttpContext, name: string, options: HitOptions = {}): Promise<ThrottleResult> {
    const keys = this.#keysOf(context, name, options);
    const result = await this.consume(name, keys);
    writeRateLimit(context.response, this.#find(name).policy, result);
    if (result.allowed) return result;
    if (result.buckets.some(({ isFirstRefusal }) => isFirstRefusal)) this.#announce(context, name, keys, options);
    throw tooManyRequests(result);
  }

  /**
   * Forgets the attempts at the account of a request, once it has succeeded: {@link reset} for what {@link hit} counted.
   *
   * @throws `E_INVALID_CONFIGURATION` where there is no such limit
   */
  async clear(context: HttpContext, name: string, options: HitOptions = {}): Promise<void> {
    await this.reset(name, this.#keysOf(context, name, options));
  }

  #find(name: string): CountedLimit {
    const found = this.#limits.get(name);
    if (found !== undefined) return found;
    const near = suggestion(name, this.#limits.keys());
    throw new ConfigurationError("config/throttle.ts: THROTTLE.limits", `no limit is called "${name}".`, near);
  }

  #keysOf(context: HttpContext, name: string, options: HitOptions): ThrottleKeys {
    const input = this.limit(name).account;
    const named = options.account === undefined && input !== null ? readInput(context, input) : options.account;
    // Where nothing names an account, it is the user's own: colleagues behind one address do not share their attempts.
    const account = named ?? (options.account === undefined ? userAccount(context) : null);
    return { account: typeof account === "string" ? account : null, address: context.request.throttleAddress };
  }

  #announce(context: HttpContext, limit: string, { account, address = null }: ThrottleKeys, options: HitOptions): void {
    const guard = options.guard ?? (isAccountLimit(limit) ? this.#guardInForce(context) : null);
    const event = { time: currentDate(), address, guard, user: context.currentUser, limit };
    // Listeners are not waited for: they must not add to the time of an answer under attack.
    void this.#events()?.emit("auth.lockout", { ...event, account: accountDigest(account) });
  }
}

/**
 * Makes the counters of a limit's buckets, in the order they are asked. By address alone comes first, since it bounds
 * what one client can do to the store: once it refuses, no accounts are counted that he makes up.
 */
function countedLimit(limit: Limit, store: ThrottleStore): CountedLimit {
  const isByAccount = ({ by }: Bucket) => Number(by.includes("account"));
  const ordered = limit.buckets.toSorted((a, b) => isByAccount(a) - isByAccount(b));
  const buckets = ordered.map((bucket) => ({ bucket, counter: store.counter(bucket) }));
  return { limit, policy: policyOf(ordered), buckets };
}

/** What stands for the account of the request's user: no address can be spelled like it. */
function userAccount({ currentUser }: HttpContext): string | null {
  const { authId } = (currentUser ?? {}) as { readonly authId?: () => unknown };
  return typeof authId === "function" ? `user ${String(authId.call(currentUser))}` : null;
}

function readInput(context: HttpContext, name: string): unknown {
  try {
    return context.request.input(name);
  } catch {
    // What cannot be parsed is an attempt all the same; whoever asks for an input next says what is wrong with it.
    return null;
  }
}

function tooManyRequests({ resetInSeconds }: ThrottleResult): AshlarError {
  return new AshlarError("E_TOO_MANY_REQUESTS", `Too many attempts. Try again in ${spelled(resetInSeconds)}.`, {
    headers: { "Retry-After": String(resetInSeconds) },
  });
}

/** A time as one would say it: rounded up, so that it is over by then. */
function spelled(seconds: number): string {
  return seconds < 120 ? counted(seconds, "second") : counted(Math.ceil(seconds / 60), "minute");
}
