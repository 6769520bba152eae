import { inspect } from "node:util";
import { AshlarError, ConfigurationError, now } from "../../support/index.ts";
import type { Bucket, Limit, ThrottlePart } from "../limits/limit.ts";
import type { SharedNetworks } from "../limits/shared-networks.ts";
import type { AttemptCount, AttemptCounter, ThrottleStore } from "../stores/store.ts";
import {
  type AttemptKeys,
  devicesKey,
  hasAccount,
  isClientsOwn,
  type ThrottleKeys,
  throttleKey,
  type WiderPrefix,
  widerKey,
} from "./attempt-keys.ts";
import { type BucketResult, type CountedTogether, countedResult, peekedResult } from "./results.ts";

/** A bucket that applies to an attempt. */
export interface ApplicableBucket extends CountedTogether {
  readonly bucket: Bucket;
  readonly counter: AttemptCounter;
  readonly key: string;
}

/** A bucket and its counter. */
interface CountedBucket {
  readonly bucket: Bucket;
  readonly counter: AttemptCounter;
}

/**
 * A bucket by address, and the prefix length of the IPv6 blocks that it counts; `null` for the bucket for all
 * addresses.
 */
interface AddressBucket extends CountedBucket {
  readonly wider: WiderPrefix | null;
}

/** A limit and the counters of its buckets. */
export interface CountedLimit {
  readonly limit: Limit;
  readonly store: ThrottleStore;
  /** `null` if none are configured. */
  readonly networks: SharedNetworks | null;
  readonly buckets: readonly AddressBucket[];
  /** For each bucket by account and address, a bucket shared by all known devices of an account. */
  readonly devices: readonly CountedBucket[];
}

/** An attempt that was added to one bucket. */
export interface CountedAttempt {
  readonly bucket: Bucket;
  readonly counter: AttemptCounter;
  readonly key: string;
  /** Whether the bucket counts by account, alone or together with the address. */
  readonly isOfAccount: boolean;
  /** The end of the window that it was added to, in milliseconds since 1970. */
  readonly endsAt: number;
}

/** The result of counting an attempt in several buckets, up to the first one that refuses it. */
export interface Counted {
  readonly results: readonly BucketResult[];
  readonly attempts: readonly CountedAttempt[];
  readonly allowed: boolean;
}

/**
 * An account's known devices share this multiple of a single device's attempts. Each login without a cookie creates
 * another device, so without this limit, every collected cookie would provide another full set of attempts.
 */
const DEVICES_SHARE = 3;

/**
 * A wider block of IPv6 addresses has this multiple of the attempts of a /64. A /56 (256 networks) is a home or a small
 * office; a /48 (65,536 networks) is a site, or a provider's customer.
 */
const WIDER: readonly (readonly [prefix: WiderPrefix, share: number])[] = [
  [56, 4],
  [48, 16],
];

const BY_ACCOUNT: readonly ThrottlePart[] = ["account"];

/**
 * Creates the counters of a limit's buckets, in the order in which they are checked. Buckets by address alone come first,
 * because they limit what one client can write to the store: once they refuse, accounts that the client makes up are no
 * longer counted.
 */
export function countedLimit(limit: Limit, store: ThrottleStore, networks: SharedNetworks | null): CountedLimit {
  const isByAccount = ({ by }: Bucket) => Number(by.includes("account"));
  const ordered = limit.buckets.toSorted((a, b) => isByAccount(a) - isByAccount(b));
  const pairs = limit.buckets.filter(({ by }) => by.includes("account") && by.includes("address"));
  const counted = (bucket: Bucket): CountedBucket => ({ bucket, counter: checkedCounter(store.counter(bucket)) });
  const buckets = ordered.flatMap((bucket) => {
    const wider = isByAccount(bucket)
      ? []
      : WIDER.map(([prefix, share]) => ({ prefix, bucket: ofBlock(bucket, prefix, share) }));
    return [
      { ...counted(bucket), wider: null },
      ...wider.map((one) => ({ ...counted(one.bucket), wider: one.prefix })),
    ];
  });
  return { limit, store, networks, buckets, devices: pairs.map(ofDevices).map(counted) };
}

/** The bucket for all addresses in a wider block. No limit can have this name. */
function ofBlock({ name, by, attempts, windowSeconds }: Bucket, prefix: WiderPrefix, share: number): Bucket {
  return Object.freeze({ name: `${name}:${prefix}`, by, attempts: attempts * share, windowSeconds });
}

/** The bucket for all known devices of an account. No limit can have this name. */
function ofDevices({ name, attempts, windowSeconds }: Bucket): Bucket {
  return Object.freeze({ name: `${name}:devices`, by: BY_ACCOUNT, attempts: attempts * DEVICES_SHARE, windowSeconds });
}

/** The keys by which a known device is counted. */
export function asProof({ device = null, ...keys }: AttemptKeys): ThrottleKeys {
  return device === null ? keys : { ...keys, proof: device.id };
}

/** The buckets in the first list whose keys aren't in the second one. */
export function without(
  some: readonly ApplicableBucket[],
  others: readonly ApplicableBucket[],
): readonly ApplicableBucket[] {
  // Comparing keys is enough: buckets of the same limit that count by the same parts have the same key.
  return some.filter(({ key }) => !others.some((other) => other.key === key));
}

/** The buckets of a limit that apply to an attempt. */
export function applicableBuckets(counted: CountedLimit, keys: ThrottleKeys): readonly ApplicableBucket[] {
  const isOfAccount = hasAccount(keys);
  const applicable = counted.buckets.flatMap(({ bucket: given, counter, wider }) => {
    const key = wider === null ? throttleKey(given.by, keys) : widerKey(keys, wider);
    if (key === null) return [];
    // An attempt without an account is counted by address alone in every bucket.
    const isByAddress = !isOfAccount || !given.by.includes("account");
    const isShared = isByAddress && counted.networks !== null;
    const bucket = isShared ? counted.networks.bucketFor(given, keys.address ?? null) : given;
    // In a limit for accounts, this applies only to buckets that never count by account. Otherwise, it would reveal
    // whether an attempt has an account.
    const isOfNetwork = !given.by.includes("account") || (isByAddress && !counted.limit.ofAccounts);
    return [{ bucket, counter, key, isClientsOwn: wider === null && isClientsOwn(bucket.by, keys), isOfNetwork }];
  });
  const { proof = null } = keys;
  // A limit that counts only by address has no other bucket for a client with a proof.
  return applicable.length === 0 && proof !== null ? applicableBuckets(counted, { ...keys, proof: null }) : applicable;
}

/** The buckets shared by all known devices of a group. */
export function deviceBuckets({ devices }: CountedLimit, keys: AttemptKeys): readonly ApplicableBucket[] {
  const key = devicesKey(keys);
  return key === null ? [] : devices.map((one) => ({ ...one, key, isClientsOwn: false, isOfNetwork: false }));
}

/**
 * Adds an attempt to the buckets by address alone, in one round trip if the store supports it, and then to the others,
 * unless one has refused it. If a bucket refuses, the attempt is taken back from the others in the same round trip,
 * because it isn't made.
 */
export async function addToAll(
  store: ThrottleStore,
  applicable: readonly ApplicableBucket[],
  cost: number,
): Promise<Counted> {
  if (!Number.isSafeInteger(cost) || cost < 1) {
    throw new AshlarError("E_INTERNAL", `An attempt cannot count for ${cost}: cost must be an integer of 1 or more.`);
  }
  const isByAccount = ({ bucket }: ApplicableBucket) => bucket.by.includes("account");
  const byAddress = applicable.filter((one) => !isByAccount(one));
  const first = await addTogether(store, byAddress, cost);
  if (!first.allowed) return first;
  const second = await addTogether(store, applicable.filter(isByAccount), cost);
  return {
    results: [...first.results, ...second.results],
    attempts: [...first.attempts, ...second.attempts],
    allowed: second.allowed,
  };
}

async function addTogether(store: ThrottleStore, some: readonly ApplicableBucket[], cost: number): Promise<Counted> {
  const counts = await countsOf(store, some, cost);
  const results = some.map((one, index) => countedResult(one.bucket, counts[index]!, cost, one));
  const attempts = some.map(({ bucket, counter, key }, index) => {
    const endsAt = now() + counts[index]!.resetInMs;
    return { bucket, counter, key, isOfAccount: bucket.by.includes("account"), endsAt };
  });
  const allowed = results.every((one) => one.allowed);
  if (allowed || some.length === 1) return { results, attempts, allowed };
  const isRefused = (_: unknown, index: number) => !results[index]!.allowed;
  const isAllowed = (_: unknown, index: number) => results[index]!.allowed;
  await takeBack(store, attempts.filter(isAllowed), cost);
  return { results: results.filter(isRefused), attempts: attempts.filter(isRefused), allowed };
}

async function countsOf(
  store: ThrottleStore,
  some: readonly ApplicableBucket[],
  cost: number,
): Promise<readonly AttemptCount[]> {
  if (some.length < 2 || store.addTogether === undefined) {
    return allFinished(some.map(async ({ counter, key }) => counter.add(key, cost)));
  }
  const counts = await store.addTogether(some.map(({ bucket, key }) => ({ bucket, key, cost })));
  return some.map((_, index) => checkedCount("addTogether", counts[index]!, cost));
}

/** More than any count, so subtracting it leaves 0. */
const ALL = 1_000_000_000;

/**
 * Takes attempts back, in one round trip if the store supports it. Skips attempts whose window has ended, because their
 * key may have a new window by now, with other attempts.
 *
 * @param some the attempts to take back
 * @param cost how many attempts each counted for
 * @param isForgotten reports whether to delete the complete count under an attempt's key
 */
export async function takeBack(
  store: ThrottleStore,
  some: readonly CountedAttempt[],
  cost = 1,
  isForgotten: (attempt: CountedAttempt) => boolean = () => false,
): Promise<void> {
  const open = some.filter(({ endsAt }) => now() < endsAt);
  const changes = open.map((attempt) => {
    const { bucket, key } = attempt;
    return { bucket, key, cost: isForgotten(attempt) ? ALL : cost };
  });
  if (open.length > 1 && store.takeBackTogether !== undefined) return store.takeBackTogether(changes);
  await allFinished(
    open.map(async (attempt, index) => {
      const { counter, key } = attempt;
      return isForgotten(attempt) ? counter.delete(key) : counter.takeBack(key, changes[index]!.cost);
    }),
  );
}

/** Waits for all operations, even if one fails, so that none is still running after the response. */
export async function allFinished<T>(operations: readonly Promise<T>[]): Promise<T[]> {
  const done: T[] = [];
  for (const result of await Promise.allSettled(operations)) {
    if (result.status === "rejected") throw result.reason;
    done.push(result.value);
  }
  return done;
}

/** The buckets' results for one more attempt. */
export function peekAll(applicable: readonly ApplicableBucket[]): Promise<BucketResult[]> {
  return Promise.all(applicable.map(async (one) => peekedResult(one.bucket, await one.counter.get(one.key), one)));
}

const METHODS = ["add", "takeBack", "get", "delete"] as const;

/**
 * Checks the results of a store's counter. A count that isn't a number would silently refuse every attempt, and a negative
 * one would let every attempt pass, so an impossible result throws `E_INTERNAL`.
 *
 * @throws `E_INVALID_CONFIGURATION` if it lacks a method
 */
export function checkedCounter(counter: AttemptCounter): AttemptCounter {
  const missing = METHODS.filter((name) => typeof Object(counter)[name] !== "function");
  if (missing.length > 0) {
    const problem = `its method counter does not return a counter: ${missing.join(", ")} missing.`;
    const remedy = "Return an object with the methods of AttemptCounter, not a promise.";
    throw new ConfigurationError("config/throttle.ts: THROTTLE.store", problem, remedy);
  }
  return {
    add: async (key, cost) => checkedCount("add", await counter.add(key, cost), cost),
    takeBack: (key, cost) => counter.takeBack(key, cost),
    get: async (key) => {
      const count = await counter.get(key);
      return count === null ? null : checkedCount("get", count, 0);
    },
    delete: (key) => counter.delete(key),
  };
}

/** Checks a count that a store returned. */
export function checkedCount(method: string, count: AttemptCount, least: number): AttemptCount {
  const { attempts, resetInMs } = Object(count) as Partial<AttemptCount>;
  const isCount = Number.isSafeInteger(attempts) && attempts! >= least;
  if (isCount && Number.isFinite(resetInMs) && resetInMs! > 0) return count;
  const said = inspect(count, { depth: 0, breakLength: Number.POSITIVE_INFINITY });
  const expected = `attempts must be an integer of ${least} or more, and resetInMs a number greater than 0.`;
  throw new AshlarError("E_INTERNAL", `The throttle store returned ${said} from ${method}(): ${expected}`);
}
