import type { Events } from "../events/index.ts";
import type { HttpContext } from "../http/index.ts";
import type { Logger } from "../kernel/index.ts";
import {
  AshlarError,
  ConfigurationError,
  currentDate,
  type Duration,
  type Message,
  suggestion,
} from "../support/index.ts";
import type { ThrottleAccounts } from "./counting/accounts.ts";
import {
  allFinished,
  type CountedAttempt,
  CountedRequests,
  isSameAccount,
  takeBack,
} from "./counting/counted-attempts.ts";
import {
  type ApplicableBucket,
  addToAll,
  applicableBuckets,
  asProof,
  type CountedLimit,
  countedLimit,
  deviceBuckets,
  peekAll,
  without,
} from "./counting/counted-limit.ts";
import "./errors.ts";
import { policyOf, writeRateLimits } from "./counting/rate-limit-headers.ts";
import { type BucketResult, summarize, type ThrottleResult } from "./counting/result.ts";
import type {} from "./events.ts";
import type { LimitName } from "./limit-name.ts";
import { type AttemptKeys, accountDigest, type ThrottleKeys, throttleKey } from "./limits/keys.ts";
import { message } from "./messages.ts";
import type { CompleteThrottleSettings, Limit } from "./settings.ts";
import type { ThrottleStore } from "./stores/store.ts";
import "../http/index.ts";

/** Says whose attempt a hit is, if that is not the limit's own input. */
export interface HitOptions {
  /**
   * The account's identifier, such as an email address; anything but text means no account. Default: the input named in
   * the limit's configuration, or if the limit has none, the logged-in user.
   */
  readonly account?: unknown;
  /** The user whose account it is, whatever the inputs are; `null` means no account. */
  readonly user?: object | null;
  /** The name of the guard that the attempt is made at; default: the active guard. */
  readonly guard?: string;
  /**
   * A proof that the client has to do with the account, such as a token that was issued to it. It is counted instead of
   * the address, and buckets that count only by address neither refuse nor count the attempt.
   *
   * Security: it must not be something that a client can make up: each invented proof would be a fresh set of attempts.
   */
  readonly proof?: string | null;
  /**
   * What is tried at the account, such as the code of one login step: attempts at each are counted separately. Default:
   * the account as a whole.
   */
  readonly subject?: string | null;
}

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

/**
 * The application's limits: a number of attempts per window, counted by account and by address.
 *
 * Windows are fixed and begin with the first attempt. Refused attempts do not extend them, so no one is locked out for
 * good.
 */
export class Throttle {
  /** @internal Where attempts are counted. */
  readonly store: ThrottleStore;
  readonly #limits: ReadonlyMap<string, CountedLimit>;
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
    const limits = [...settings.limits.values()].map((limit) => countedLimit(limit, store, settings.sharedNetworks));
    this.#limits = new Map(limits.map((counted) => [counted.limit.name, counted]));
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
   * @throws `E_INVALID_CONFIGURATION` if there is none, with suggestions
   */
  limit(name: string): Limit {
    return this.#find(name).limit;
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
    return (await this.#count(name, keys, cost)).result;
  }

  /**
   * Returns whether an attempt would pass, without counting one.
   *
   * @throws `E_INVALID_CONFIGURATION` if there is no such limit
   */
  async peek(name: LimitName, keys: ThrottleKeys): Promise<ThrottleResult> {
    const found = this.#find(name);
    const isApart = found.limit.knownDevicesApart && (keys.proof ?? null) !== null;
    const applicable = applicableBuckets(found, isApart ? apartKeys(keys) : keys);
    return summarize(await peekAll(applicable), mostOf(found.limit), publicPolicy(applicable));
  }

  /**
   * Forgets the attempts at an account once its owner has succeeded: those counted by account, or by account and
   * address. Counts by address alone stay: otherwise a client could log in to its own account between attempts and try
   * other accounts without limit.
   *
   * @throws `E_INVALID_CONFIGURATION` if there is no such limit; what the store throws
   */
  async reset(name: LimitName, keys: ThrottleKeys): Promise<void> {
    await this.#reset(this.#find(name), keys);
  }

  /**
   * @internal Forgets everything that was counted under these keys: by account, by address, and by both for keys that have
   * both.
   *
   * @param name the only limit to forget it under; `null`: all
   * @returns how many counts there were
   * @throws `E_INVALID_CONFIGURATION` if there is no such limit; what the store throws
   */
  async forget(all: readonly ThrottleKeys[], name: string | null = null): Promise<number> {
    const limits = name === null ? [...this.#limits.values()] : [this.#find(name)];
    const counted = limits.flatMap((found) => {
      const apart = found.limit.knownDevicesApart ? all.map((keys) => apartKeys(keys)) : [];
      return [...all, ...apart].flatMap((keys) => applicableBuckets(found, keys));
    });
    // Buckets have the same key for several of these, such as an address of an account that is given alone as well.
    const each = new Map(counted.map((one) => [`${one.bucket.name} ${one.key}`, one]));
    const found = await allFinished(
      [...each.values()].map(async ({ counter, key }) => {
        const count = await counter.get(key);
        await counter.delete(key);
        return count;
      }),
    );
    return found.filter((count) => count !== null).length;
  }

  /**
   * @internal Forgets everything that was counted under a limit.
   *
   * @returns whether the store can, and how many counts it has deleted; `null` if it doesn't know
   * @throws `E_INVALID_CONFIGURATION` if there is no such limit; what the store throws
   */
  async forgetLimit(name: string): Promise<{ readonly isDone: boolean; readonly cleared: number | null }> {
    const { buckets, devices } = this.#find(name);
    const { store } = this;
    if (store.clear === undefined) return { isDone: false, cleared: null };
    let cleared: number | null = 0;
    for (const { bucket } of [...buckets, ...devices]) {
      const some = await store.clear(bucket);
      cleared = typeof some === "number" && cleared !== null ? cleared + some : null;
    }
    return { isDone: true, cleared };
  }

  async #reset(found: CountedLimit, keys: ThrottleKeys): Promise<void> {
    await allFinished(this.#ofAccount(found, keys).map(async ({ counter, key }) => counter.delete(key)));
  }

  /** The buckets that count attempts at an account; none without one. */
  #ofAccount(found: CountedLimit, keys: ThrottleKeys): readonly ApplicableBucket[] {
    if (throttleKey(["account"], { ...keys, address: null }) === null) return [];
    return applicableBuckets(found, keys).filter(({ bucket }) => bucket.by.includes("account"));
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
    const keys = this.#keysOf(context, name, options);
    const refusal = this.#accounts?.refusal(context, name, keys) ?? null;
    if (refusal !== null) throw refusal;
    const { result, attempts } = await this.#count(name, keys, 1);
    this.#requests.add(context, { limit: name, keys, result, attempts });
    const results = this.#requests.of(context).map((one) => one.result);
    writeRateLimits(context.response, results);
    if (result.buckets.some(({ isFirstRefusal }) => isFirstRefusal)) this.#announce(context, name, keys, options);
    return result;
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
    const buckets = applicableBuckets(this.#find(name), { address: context.request.clientAddress });
    // Wider blocks are looked at when the attempt is counted: each would be another statement here.
    const byAddress = buckets.filter((one) => !one.bucket.by.includes("account") && one.isClientsOwn);
    if ((await peekAll(byAddress)).every(({ allowed }) => allowed)) return;
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
    const keys = this.#keysOf(context, name, options);
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
    const keys = asProof(this.#keysOf(context, name, options));
    const own = this.#requests.under(context, name).filter((one) => isSameAccount(one.keys, keys));
    const beside = others.flatMap((other) => this.#requests.under(context, other));
    const forgotten = this.#ofAccount(this.#find(name), keys);
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
    if (!this.#find(name).limit.buckets.some(({ by }) => by.includes("address"))) return;
    throw new AshlarError(
      "E_UNKNOWN_CLIENT",
      `The limit "${name}" counts by address, and the request came without its client's. Behind a unix socket, the proxy must ` +
        "set X-Forwarded-For, and TRUSTED_PROXIES must contain unix. Elsewhere, pass the address of the socket " +
        "where the host calls the application: application.fetch(request, { address }). If it can't be known, and something " +
        'in front of the application limits requests, set APP.clientAddress to "unknown" in config/app.ts.',
    );
  }

  #find(name: string): CountedLimit {
    const found = this.#limits.get(name);
    if (found !== undefined) return found;
    const near = suggestion(name, this.#limits.keys());
    throw new ConfigurationError("config/throttle.ts: THROTTLE.limits", `no limit is called "${name}".`, near);
  }

  /**
   * Counts an attempt. If it comes from a device that the account was used on before, it counts by device, and for all
   * such devices together. When these have used up what they share, it also counts as an unknown client's. So collected
   * cookies gain an attacker nothing, and the owner is not refused because of what others do elsewhere.
   */
  async #count(name: string, keys: AttemptKeys, cost: number): Promise<CountedResult> {
    const found = this.#find(name);
    const { limit, store } = found;
    if (limit.knownDevicesApart) return this.#countApart(found, keys, cost);
    const applicable = applicableBuckets(found, asProof(keys));
    const counted = await addToAll(store, applicable, cost);
    const result = summarize(counted.results, mostOf(limit), publicPolicy(applicable));
    const { device = null, ...stranger } = keys;
    if (device === null || !counted.allowed) return { result, attempts: counted.attempts };
    const together = await addToAll(store, deviceBuckets(found, keys), cost);
    const attempts = [...counted.attempts, ...together.attempts];
    if (together.allowed) return { result, attempts };
    const others = without(applicableBuckets(found, stranger), applicable);
    const last = await addToAll(store, others, cost);
    return {
      result: summarize(last.results, mostOf(limit), publicPolicy(others)),
      attempts: [...attempts, ...last.attempts],
    };
  }

  /**
   * Counts an attempt under a limit that counts known devices apart: a client with a proof alone, such as a device that the
   * account is used on, and other devices of the account together. Once these are used up, it counts as an unknown
   * client's, and after that under the slower limit.
   */
  async #countApart(found: CountedLimit, keys: AttemptKeys, cost: number): Promise<CountedResult> {
    const { limit, store } = found;
    const { device: _, proof: __, ...stranger } = keys;
    const attempts: CountedAttempt[] = [];
    const refusals: BucketResult[] = [];
    const add = async (one: CountedLimit, whose: ThrottleKeys): Promise<ThrottleResult> => {
      const counted = await addToAll(store, applicableBuckets(one, whose), cost);
      attempts.push(...counted.attempts);
      return summarize(counted.results, mostOf(one.limit), "");
    };
    if ((keys.proof ?? keys.device ?? null) !== null) {
      const own = await add(found, apartKeys(keys));
      refusals.push(...own.buckets);
      if (own.allowed) return { result: own, attempts };
    }
    const result = await add(found, stranger);
    refusals.push(...result.buckets);
    // What has refused it on the way is part of the result: it may be the first refusal.
    if (result.allowed || limit.slower === null) return { result: { ...result, buckets: refusals }, attempts };
    const slow = await add(this.#find(limit.slower), stranger);
    return { result: { ...slow, buckets: [...refusals, ...slow.buckets] }, attempts };
  }

  #keysOf(context: HttpContext, name: string, options: HitOptions): AttemptKeys {
    const address = context.request.clientAddress;
    const identity = this.#identify(context, name, options);
    const proof = options.proof ?? identity.proof ?? null;
    const { subject = null } = options;
    return { address, ...identity, proof, device: proof === null ? (identity.device ?? null) : null, subject };
  }

  #identify(context: HttpContext, name: string, options: HitOptions): AttemptKeys {
    const guard = options.guard ?? this.#accounts?.guardOf(context) ?? null;
    const named = options.user === undefined ? this.#named(context, name, options) : null;
    if (named === null) {
      const user = options.user === undefined ? context.currentUser : options.user;
      if (user === null) return {};
      const identity = guard === null ? null : this.#accounts?.ofUser(context, guard, user, name);
      return identity ?? { account: userAccount(user) };
    }
    if (typeof named !== "string") return {};
    if (guard === null || this.#accounts === null) return { account: named };
    const identity = this.#accounts.named(context, { limit: name, guard, identifier: named });
    // An application's own limit may count by an input that has nothing to do with accounts.
    return identity.account === null && !this.limit(name).ofAccounts ? { account: named } : identity;
  }

  /** The account's identifier according to the attempt; `null` if the limit does not use one, or if none was sent. */
  #named(context: HttpContext, name: string, options: HitOptions): unknown {
    if (options.account !== undefined) return options.account ?? false;
    const input = this.limit(name).account;
    return input === null ? null : readInput(context, input);
  }

  #announce(context: HttpContext, limit: string, { account, address = null }: ThrottleKeys, options: HitOptions): void {
    const guard = options.guard ?? (this.limit(limit).ofAccounts ? (this.#accounts?.guardOf(context) ?? null) : null);
    const event = { time: currentDate(), address, guard, user: context.currentUser, limit };
    // Listeners are not awaited: they must not delay responses under attack. Attempts count in a transaction that is rolled
    // back too.
    void this.#events()?.happen("auth.lockout", { ...event, account: accountDigest(account) });
  }
}

/** The keys by which a limit counts a client with a proof apart, or the other known devices of an account. */
function apartKeys({ proof = null, device: _, ...stranger }: AttemptKeys): ThrottleKeys {
  return { ...stranger, subject: proof === null ? "known devices" : `proof ${proof}` };
}

/** The result of counting an attempt, and what was counted. */
interface CountedResult {
  readonly result: ThrottleResult;
  readonly attempts: readonly CountedAttempt[];
}

function mostOf({ buckets }: Limit): number {
  return buckets[0]!.attempts;
}

function publicPolicy(applicable: readonly ApplicableBucket[]): string {
  return policyOf(applicable.filter((one) => one.isClientsOwn).map(({ bucket }) => bucket));
}

/** The account of a user if no guard identifies it: no address can have this spelling. */
function userAccount(user: object): string | null {
  const { authId } = user as { readonly authId?: () => unknown };
  return typeof authId === "function" ? `user ${String(authId.call(user))}` : null;
}

function readInput(context: HttpContext, name: string): unknown {
  try {
    return context.request.input(name);
  } catch {
    // A body that cannot be parsed is an attempt too; the next code that reads an input reports the problem.
    return null;
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
