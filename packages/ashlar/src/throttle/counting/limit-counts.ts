import { ConfigurationError, suggestion } from "../../support/index.ts";
import { type AttemptKeys, type ThrottleKeys, throttleKey } from "../limits/keys.ts";
import { LIMITS_WHERE, type Limit } from "../limits/limit.ts";
import type { SharedNetworks } from "../limits/shared-networks.ts";
import type { ThrottleStore } from "../stores/store.ts";
import { allFinished, type CountedAttempt } from "./counted-attempts.ts";
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
} from "./counted-limit.ts";
import { type BucketResult, policyOf, summarize, type ThrottleResult } from "./results.ts";

/** The result of counting an attempt, and what was counted. */
interface CountedResult {
  readonly result: ThrottleResult;
  readonly attempts: readonly CountedAttempt[];
}

/** Counts attempts under an application's limits. Whose attempts they are, its callers decide. */
export class LimitCounts {
  readonly #limits: ReadonlyMap<string, CountedLimit>;
  readonly #store: ThrottleStore;

  constructor(limits: Iterable<Limit>, store: ThrottleStore, networks: SharedNetworks) {
    const counted = [...limits].map((limit) => countedLimit(limit, store, networks));
    this.#limits = new Map(counted.map((one) => [one.limit.name, one]));
    this.#store = store;
  }

  /** @throws `E_INVALID_CONFIGURATION` if there is no limit of this name, with suggestions */
  limit(name: string): Limit {
    return this.#find(name).limit;
  }

  /**
   * Counts an attempt. If it comes from a device that the account was used on before, it counts by device, and for all
   * such devices together. When these have used up what they share, it also counts as an unknown client's. So collected
   * cookies gain an attacker nothing, and the owner is not refused because of what others do elsewhere.
   */
  async count(name: string, keys: AttemptKeys, cost: number): Promise<CountedResult> {
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

  /** Returns the result that an attempt would have. */
  async peek(name: string, keys: ThrottleKeys): Promise<ThrottleResult> {
    const found = this.#find(name);
    const isApart = found.limit.knownDevicesApart && (keys.proof ?? null) !== null;
    const applicable = applicableBuckets(found, isApart ? apartKeys(keys) : keys);
    return summarize(await peekAll(applicable), mostOf(found.limit), publicPolicy(applicable));
  }

  /** Reports whether the buckets that count the client's address alone have attempts left for it. */
  async hasLeftFor(name: string, address: string | null): Promise<boolean> {
    const buckets = applicableBuckets(this.#find(name), { address });
    // Wider blocks are looked at when the attempt is counted: each would be another statement here.
    const byAddress = buckets.filter((one) => !one.bucket.by.includes("account") && one.isClientsOwn);
    return (await peekAll(byAddress)).every(({ allowed }) => allowed);
  }

  /** The buckets that count attempts at an account; none without one. */
  ofAccount(name: string, keys: ThrottleKeys): readonly ApplicableBucket[] {
    const found = this.#find(name);
    if (throttleKey(["account"], { ...keys, address: null }) === null) return [];
    return applicableBuckets(found, keys).filter(({ bucket }) => bucket.by.includes("account"));
  }

  /**
   * Forgets everything that was counted under these keys: by account, by address, and by both for keys that have
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
   * Forgets everything that was counted under a limit.
   *
   * @returns whether the store can, and how many counts it has deleted; `null` if it doesn't know
   * @throws `E_INVALID_CONFIGURATION` if there is no such limit; what the store throws
   */
  async forgetLimit(name: string): Promise<{ readonly isDone: boolean; readonly cleared: number | null }> {
    const { buckets, devices } = this.#find(name);
    const store = this.#store;
    if (store.clear === undefined) return { isDone: false, cleared: null };
    let cleared: number | null = 0;
    for (const { bucket } of [...buckets, ...devices]) {
      const some = await store.clear(bucket);
      cleared = typeof some === "number" && cleared !== null ? cleared + some : null;
    }
    return { isDone: true, cleared };
  }

  #find(name: string): CountedLimit {
    const found = this.#limits.get(name);
    if (found !== undefined) return found;
    const near = suggestion(name, this.#limits.keys());
    throw new ConfigurationError(LIMITS_WHERE, `no limit is called "${name}".`, near);
  }
}

/** The keys by which a limit counts a client with a proof apart, or the other known devices of an account. */
function apartKeys({ proof = null, device: _, ...stranger }: AttemptKeys): ThrottleKeys {
  return { ...stranger, subject: proof === null ? "known devices" : `proof ${proof}` };
}

function mostOf({ buckets }: Limit): number {
  return buckets[0]!.attempts;
}

function publicPolicy(applicable: readonly ApplicableBucket[]): string {
  return policyOf(applicable.filter((one) => one.isClientsOwn).map(({ bucket }) => bucket));
}
