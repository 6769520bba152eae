import { AshlarError, now } from "../support/index.ts";
import { checkedCounter } from "./checked-counter.ts";
import type { CountedAttempt } from "./counted-attempts.ts";
import { type AttemptKeys, devicesKey, isClientsOwn, type ThrottleKeys, throttleKey } from "./keys.ts";
import { type BucketResult, countedResult, peekedResult } from "./result.ts";
import type { Bucket, Limit, ThrottlePart } from "./settings.ts";
import type { AttemptCounter, ThrottleStore } from "./store.ts";

/** A bucket that applies to an attempt. */
export interface ApplicableBucket {
  readonly bucket: Bucket;
  readonly counter: AttemptCounter;
  readonly key: string;
  readonly isClientsOwn: boolean;
}

/** A bucket and its counter. */
interface CountedBucket {
  readonly bucket: Bucket;
  readonly counter: AttemptCounter;
}

/** A limit and the counters of its buckets. */
export interface CountedLimit {
  readonly limit: Limit;
  readonly buckets: readonly CountedBucket[];
  /** For each bucket by account and address: what all known devices of an account may try together. */
  readonly devices: readonly CountedBucket[];
}

/** The result of counting an attempt in several buckets, up to the first that refuses it. */
export interface Counted {
  readonly results: readonly BucketResult[];
  readonly attempts: readonly CountedAttempt[];
  readonly allowed: boolean;
}

/**
 * How many times the attempts of one device all known devices of an account have together. Each login without a cookie
 * creates another device. Without this factor, every collected cookie would be another full set of attempts.
 */
const DEVICES_SHARE = 3;

const BY_ACCOUNT: readonly ThrottlePart[] = ["account"];

/**
 * Creates the counters of a limit's buckets, in the order they are checked. Buckets by address alone come first,
 * because they bound what one client can do to the store: once they refuse, accounts that the client makes up are no
 * longer counted.
 */
export function countedLimit(limit: Limit, store: ThrottleStore): CountedLimit {
  const isByAccount = ({ by }: Bucket) => Number(by.includes("account"));
  const ordered = limit.buckets.toSorted((a, b) => isByAccount(a) - isByAccount(b));
  const pairs = limit.buckets.filter(({ by }) => by.includes("account") && by.includes("address"));
  const counted = (bucket: Bucket): CountedBucket => ({ bucket, counter: checkedCounter(store.counter(bucket)) });
  return { limit, buckets: ordered.map(counted), devices: pairs.map(ofDevices).map(counted) };
}

/** What all known devices of an account share, for a bucket by account and address. No limit can have this name. */
function ofDevices({ name, attempts, windowSeconds }: Bucket): Bucket {
  return Object.freeze({ name: `${name}:devices`, by: BY_ACCOUNT, attempts: attempts * DEVICES_SHARE, windowSeconds });
}

/** The keys by which a known device is counted. */
export function asProof({ device = null, ...keys }: AttemptKeys): ThrottleKeys {
  return device === null ? keys : { ...keys, proof: device };
}

/** A limit's buckets that count under keys of their own. */
export function without(
  some: readonly ApplicableBucket[],
  others: readonly ApplicableBucket[],
): readonly ApplicableBucket[] {
  // Two buckets of one limit that count by the same things have the same key, so both have a key or neither has.
  return some.filter(({ key }) => !others.some((other) => other.key === key));
}

/** The buckets of a limit that apply to an attempt. */
export function applicableBuckets(counted: CountedLimit, keys: ThrottleKeys): readonly ApplicableBucket[] {
  const applicable = counted.buckets.flatMap(({ bucket, counter }) => {
    const key = throttleKey(bucket.by, keys);
    return key === null ? [] : [{ bucket, counter, key, isClientsOwn: isClientsOwn(bucket.by, keys) }];
  });
  const { proof = null } = keys;
  // A limit that counts only by address has nothing else to bound a client that has proved something.
  return applicable.length === 0 && proof !== null ? applicableBuckets(counted, { ...keys, proof: null }) : applicable;
}

/** The buckets that all known devices of an account share. */
export function deviceBuckets({ devices }: CountedLimit, keys: ThrottleKeys): readonly ApplicableBucket[] {
  const key = devicesKey(keys);
  return key === null ? [] : devices.map((one) => ({ ...one, key, isClientsOwn: false }));
}

/** Adds an attempt to the buckets one by one, up to the first that refuses it. */
export async function addToAll(applicable: readonly ApplicableBucket[], cost: number): Promise<Counted> {
  if (!Number.isSafeInteger(cost) || cost < 1) {
    throw new AshlarError("E_INTERNAL", `An attempt cannot count for ${cost}: cost must be an integer of 1 or more.`);
  }
  const results: BucketResult[] = [];
  const attempts: CountedAttempt[] = [];
  for (const { bucket, counter, key, isClientsOwn: isOwn } of applicable) {
    const count = await counter.add(key, cost);
    attempts.push({ counter, key, isOfAccount: bucket.by.includes("account"), endsAt: now() + count.resetInMs });
    const result = countedResult(bucket, count, cost, isOwn);
    results.push(result);
    if (!result.allowed) break;
  }
  return { results, attempts, allowed: results.every(({ allowed }) => allowed) };
}

/** The results that buckets would have for one more attempt. */
export function peekAll(applicable: readonly ApplicableBucket[]): Promise<BucketResult[]> {
  return Promise.all(
    applicable.map(async ({ bucket, counter, key, isClientsOwn: isOwn }) => {
      return peekedResult(bucket, await counter.get(key), isOwn);
    }),
  );
}
