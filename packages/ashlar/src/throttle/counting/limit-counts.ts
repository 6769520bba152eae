import { ConfigurationError, suggestion } from "../../support/index.ts";
import { LIMITS_WHERE, type Limit } from "../limits/limit.ts";
import type { SharedNetworks } from "../limits/shared-networks.ts";
import type { ThrottleStore } from "../stores/store.ts";
import { type AttemptKeys, type ThrottleKeys, throttleKey } from "./attempt-keys.ts";
import {
  type ApplicableBucket,
  addToAll,
  allFinished,
  applicableBuckets,
  asProof,
  type CountedAttempt,
  type CountedLimit,
  countedLimit,
  deviceBuckets,
  peekAll,
  without,
} from "./counted-limit.ts";
import { type BucketResult, policyOf, summarize, type ThrottleResult } from "./results.ts";

/** The result of counting an attempt, and the attempts that were counted. */
interface CountedResult {
  readonly result: ThrottleResult;
  readonly attempts: readonly CountedAttempt[];
}

/** Counts attempts under an application's limits. The caller decides whose attempts they are. */
export class LimitCounts {
  readonly #limits: ReadonlyMap<string, CountedLimit>;
  readonly #store: ThrottleStore;

  constructor(limits: Iterable<Limit>, store: ThrottleStore, networks: SharedNetworks | null) {
    const counted = [...limits].map((limit) => countedLimit(limit, store, networks));
    this.#limits = new Map(counted.map((one) => [one.limit.name, one]));
    this.#store = store;
  }

  /** Reports whether there is a limit of this name. */
  has(name: string): boolean {
    return this.#limits.has(name);
  }

  /** @throws `E_INVALID_CONFIGURATION` if there is no limit of this name, with suggestions */
  limit(name: string): Limit {
    return this.#find(name).limit;
  }

  /**
   * Counts an attempt. If it comes from a device that the account was used on before, it is counted for the device, and for
   * all such devices together. Once their shared attempts are used up, it also counts as an unknown client's. So an
   * attacker gains nothing by collecting cookies, and other clients' attempts don't lock out the owner.
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
   * Counts an attempt under a limit that counts known devices separately. A client with a proof, such as a device with an
   * active login, has its own attempts; the account's other known devices share theirs. Once those are used up, it counts as
   * an unknown client's, and after that under the slower limit.
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
    // The result includes buckets that refused the attempt earlier, because this may be their first refusal.
    if (result.allowed || limit.slower === null) return { result: { ...result, buckets: refusals }, attempts };
    const slow = await add(this.#find(limit.slower), stranger);
    return { result: { ...slow, buckets: [...refusals, ...slow.buckets] }, attempts };
  }

  /** Returns the result that an attempt would get. */
  async peek(name: string, keys: ThrottleKeys): Promise<ThrottleResult> {
    const found = this.#find(name);
    const isApart = found.limit.knownDevicesApart && (keys.proof ?? null) !== null;
    const applicable = applicableBuckets(found, isApart ? apartKeys(keys) : keys);
    return summarize(await peekAll(applicable), mostOf(found.limit), publicPolicy(applicable));
  }

  /** Reports whether the buckets that count by address alone have attempts left for an address. */
  async hasLeftFor(name: string, address: string | null): Promise<boolean> {
    const buckets = applicableBuckets(this.#find(name), { address });
    // Wider blocks are checked when the attempt is counted, because each would take another statement here.
    const byAddress = buckets.filter((one) => !one.bucket.by.includes("account") && one.isClientsOwn);
    return (await peekAll(byAddress)).every(({ allowed }) => allowed);
  }

  /** The buckets that count attempts at an account; empty if there is no account. */
  ofAccount(name: string, keys: ThrottleKeys): readonly ApplicableBucket[] {
    const found = this.#find(name);
    if (throttleKey(["account"], { ...keys, address: null }) === null) return [];
    return applicableBuckets(found, keys).filter(({ bucket }) => bucket.by.includes("account"));
  }

  /**
   * Deletes all counts under these keys: by account, by address, and for keys with both, by the combination.
   *
   * @param name the limit whose counts are deleted; `null` for all limits
   * @returns how many counts there were
   * @throws `E_INVALID_CONFIGURATION` if there is no such limit; errors from the store
   */
  async forget(all: readonly ThrottleKeys[], name: string | null = null): Promise<number> {
    const limits = name === null ? [...this.#limits.values()] : [this.#find(name)];
    const counted = limits.flatMap((found) => {
      const apart = found.limit.knownDevicesApart ? all.map((keys) => apartKeys(keys)) : [];
      return [...all, ...apart].flatMap((keys) => applicableBuckets(found, keys));
    });
    // Several keys can lead to the same count, for example if an address is also given with an account.
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
   * Deletes all counts of a limit.
   *
   * @returns whether the store supports it, and how many counts it deleted; `null` if it doesn't know
   * @throws `E_INVALID_CONFIGURATION` if there is no such limit; errors from the store
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

/** The keys that count a client with a proof on its own, and an account's other known devices together. */
function apartKeys({ proof = null, device: _, ...stranger }: AttemptKeys): ThrottleKeys {
  return { ...stranger, subject: proof === null ? "known devices" : `proof ${proof}` };
}

function mostOf({ buckets }: Limit): number {
  return buckets[0]!.attempts;
}

function publicPolicy(applicable: readonly ApplicableBucket[]): string {
  return policyOf(applicable.filter((one) => one.isClientsOwn).map(({ bucket }) => bucket));
}
