import type { Bucket } from "../settings.ts";
import type { AttemptCount } from "../stores/store.ts";

/** The result of one bucket for an attempt. */
export interface BucketResult {
  readonly bucket: Bucket;
  readonly allowed: boolean;
  /** How many attempts are left in the window. */
  readonly remaining: number;
  /** How long until the window ends, in whole seconds, rounded up; 0 if none is active. */
  readonly resetInSeconds: number;
  /** Whether this is the first attempt in its window that is refused. */
  readonly isFirstRefusal: boolean;
  /** Whether only the client's own attempts are counted here, so that the headers may include the count. */
  readonly isClientsOwn: boolean;
  /** Whether everyone with the client's address, or in its network, is counted together here. */
  readonly isOfNetwork: boolean;
}

/** Whose attempts a bucket counts. */
export type CountedTogether = Pick<BucketResult, "isClientsOwn" | "isOfNetwork">;

/**
 * The result of a limit for an attempt: of several buckets, the one that refuses, or else the one closest to refusing.
 */
export interface ThrottleResult {
  readonly allowed: boolean;
  /** How many attempts pass in one window. */
  readonly limit: number;
  /** How many attempts are left in the window. */
  readonly remaining: number;
  /** How long until the window ends, in whole seconds, rounded up; 0 if none is active. */
  readonly resetInSeconds: number;
  /** The results of the buckets that were checked. */
  readonly buckets: readonly BucketResult[];
  /** The value of `RateLimit-Policy`: the buckets that apply to the attempt, and whose counts the client may know. */
  readonly policy: string;
}

/** The result of a bucket for an attempt that has just been counted. */
export function countedResult(
  bucket: Bucket,
  { attempts, resetInMs }: AttemptCount,
  cost: number,
  { isClientsOwn, isOfNetwork }: CountedTogether,
): BucketResult {
  const allowed = attempts <= bucket.attempts;
  return {
    bucket,
    allowed,
    remaining: Math.max(0, bucket.attempts - attempts),
    resetInSeconds: Math.ceil(resetInMs / 1000),
    isFirstRefusal: !allowed && attempts - cost <= bucket.attempts,
    isClientsOwn,
    isOfNetwork,
  };
}

/** The result that a bucket would have for one more attempt. */
export function peekedResult(
  bucket: Bucket,
  count: AttemptCount | null,
  { isClientsOwn, isOfNetwork }: CountedTogether,
): BucketResult {
  const remaining = Math.max(0, bucket.attempts - (count?.attempts ?? 0));
  const resetInSeconds = Math.ceil((count?.resetInMs ?? 0) / 1000);
  return {
    bucket,
    allowed: remaining > 0,
    remaining,
    resetInSeconds,
    isFirstRefusal: false,
    isClientsOwn,
    isOfNetwork,
  };
}

/**
 * The result of a limit, from the results of its buckets.
 *
 * @param limit how many attempts pass, in case no bucket applies to the attempt
 */
export function summarize(buckets: readonly BucketResult[], limit: number, policy: string): ThrottleResult {
  const [first, ...others] = buckets;
  if (first === undefined) return { allowed: true, limit, remaining: limit, resetInSeconds: 0, buckets, policy };
  const strictest = others.reduce((a, b) => (isStricter(b, a) ? b : a), first);
  const { bucket, allowed, remaining, resetInSeconds } = strictest;
  return { allowed, limit: bucket.attempts, remaining, resetInSeconds, buckets, policy };
}

function isStricter(a: BucketResult, b: BucketResult): boolean {
  if (a.allowed !== b.allowed) return !a.allowed;
  return a.remaining === b.remaining ? a.resetInSeconds > b.resetInSeconds : a.remaining < b.remaining;
}
