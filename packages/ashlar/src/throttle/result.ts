import type { Bucket } from "./settings.ts";
import type { AttemptCount } from "./store.ts";

/** What one bucket says to an attempt. */
export interface BucketResult {
  readonly bucket: Bucket;
  readonly allowed: boolean;
  /** How many attempts are left in the window. */
  readonly remaining: number;
  /** How long until the window ends, in whole seconds, rounded up; 0 where none is under way. */
  readonly resetInSeconds: number;
  /** Whether this attempt is the first of its window to be refused. */
  readonly isFirstRefusal: boolean;
  /** Whether the client's own attempts alone are counted here, so that the headers may tell of them. */
  readonly isClientsOwn: boolean;
}

/** What a limit says to an attempt. Of several buckets it is the one that refuses, or else the one nearest to it. */
export interface ThrottleResult {
  readonly allowed: boolean;
  /** How many attempts pass in one window. */
  readonly limit: number;
  /** How many attempts are left in the window. */
  readonly remaining: number;
  /** How long until the window ends, in whole seconds, rounded up; 0 where none is under way. */
  readonly resetInSeconds: number;
  /** What each bucket says that was asked. */
  readonly buckets: readonly BucketResult[];
  /** The value of `RateLimit-Policy`: the buckets that apply to the attempt, and whose counts the client may know. */
  readonly policy: string;
}

/** What a bucket says to an attempt that has just been counted. */
export function countedResult(
  bucket: Bucket,
  { attempts, resetInMs }: AttemptCount,
  cost: number,
  isClientsOwn: boolean,
): BucketResult {
  const allowed = attempts <= bucket.attempts;
  return {
    bucket,
    allowed,
    remaining: Math.max(0, bucket.attempts - attempts),
    resetInSeconds: Math.ceil(resetInMs / 1000),
    isFirstRefusal: !allowed && attempts - cost <= bucket.attempts,
    isClientsOwn,
  };
}

/** What a bucket would say to one more attempt. */
export function peekedResult(bucket: Bucket, count: AttemptCount | null, isClientsOwn: boolean): BucketResult {
  const remaining = Math.max(0, bucket.attempts - (count?.attempts ?? 0));
  const resetInSeconds = Math.ceil((count?.resetInMs ?? 0) / 1000);
  return { bucket, allowed: remaining > 0, remaining, resetInSeconds, isFirstRefusal: false, isClientsOwn };
}

/**
 * What a limit says, given what its buckets say.
 *
 * @param limit how many attempts pass, for the case that no bucket applies to the attempt
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
