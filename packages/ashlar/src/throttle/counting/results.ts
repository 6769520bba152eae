import type { HttpResponse } from "../../http/index.ts";
import type { Bucket } from "../limits/limit.ts";
import type { AttemptCount } from "../stores/store.ts";

/** The result of one bucket for an attempt. */
export type BucketResult = ThrottleResult["buckets"][number];

/** Whose attempts a bucket counts. */
export type CountedTogether = Pick<BucketResult, "isClientsOwn" | "isOfNetwork">;

/**
 * The result of a limit for an attempt: among several buckets, the refusing one, or else the one closest to refusing.
 */
export interface ThrottleResult {
  readonly allowed: boolean;
  /** How many attempts pass in one window. */
  readonly limit: number;
  /** How many attempts are left in the window. */
  readonly remaining: number;
  /** How long until the window ends, in whole seconds, rounded up; 0 if none is active. */
  readonly resetInSeconds: number;
  /** The same for each bucket that was checked. */
  readonly buckets: readonly {
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
  }[];
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

/** The value of `RateLimit-Policy` for buckets whose counts a client may know: one item each. */
export function policyOf(buckets: readonly Bucket[]): string {
  return buckets.map(({ name, attempts, windowSeconds }) => `"${name}";q=${attempts};w=${windowSeconds}`).join(", ");
}

/**
 * Writes the results of limits into `RateLimit-Policy` and `RateLimit`: an item for each bucket that applies to the
 * request, such as `"login";q=5;w=300`, and one for each that was checked, such as `"login";r=4;t=300`
 * (draft-ietf-httpapi-ratelimit-headers-11 §3 and §4, structured fields).
 *
 * §8.2 of the draft: counts for an account across clients would tell each client what the others did. They are left
 * out.
 *
 * @param results the results of all limits that have counted the request; they replace what was written before
 */
export function writeRateLimits(response: HttpResponse, results: readonly ThrottleResult[]): void {
  const policies: string[] = [];
  const states: string[] = [];
  for (const { policy, buckets } of results) {
    if (policy !== "") policies.push(policy);
    for (const { bucket, isClientsOwn, remaining, resetInSeconds } of buckets) {
      if (isClientsOwn) states.push(`"${bucket.name}";r=${remaining};t=${resetInSeconds}`);
    }
  }
  if (policies.length > 0) response.header("RateLimit-Policy", policies.join(", "));
  if (states.length > 0) response.header("RateLimit", states.join(", "));
}
