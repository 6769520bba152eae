import type { HttpResponse } from "../../http/index.ts";
import { AshlarError, type Duration, type Message } from "../../support/index.ts";
import type { Bucket } from "../limits/limit.ts";
import { message } from "../messages.ts";
import type { AttemptCount } from "../stores/store.ts";
import "../../http/index.ts";

/** One bucket's result for an attempt. */
export type BucketResult = ThrottleResult["buckets"][number];

/** Which clients a bucket counts together. */
export type CountedTogether = Pick<BucketResult, "isClientsOwn" | "isOfNetwork">;

/** A limit's result for an attempt: that of the bucket that refuses it, or else of the one closest to refusing. */
export interface ThrottleResult {
  readonly allowed: boolean;
  /** How many attempts pass per window. */
  readonly limit: number;
  /** How many attempts are left in the window. */
  readonly remaining: number;
  /** How long until the window ends, in whole seconds, rounded up; 0 if none is active. */
  readonly resetInSeconds: number;
  /** The result of each bucket that was checked. */
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
    /** Whether all clients with the same address, or in the same network, are counted together here. */
    readonly isOfNetwork: boolean;
  }[];
  /** The value of `RateLimit-Policy`: the buckets that apply to the attempt and whose counts the client may see. */
  readonly policy: string;
}

/** A bucket's result for an attempt that has just been counted. */
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

/** A bucket's result for one more attempt. */
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
 * A limit's result, derived from those of its buckets.
 *
 * @param limit how many attempts pass if no bucket applies to the attempt
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

/** The value of `RateLimit-Policy`, with one item for each bucket. */
export function policyOf(buckets: readonly Bucket[]): string {
  return buckets.map(({ name, attempts, windowSeconds }) => `"${name}";q=${attempts};w=${windowSeconds}`).join(", ");
}

/**
 * Writes the results of limits into `RateLimit-Policy` and `RateLimit`: an item for each bucket that applies to the
 * request, such as `"login";q=5;w=300`, and one for each bucket that was checked, such as `"login";r=4;t=300`
 * (draft-ietf-httpapi-ratelimit-headers-11 §3 and §4, structured fields).
 *
 * Counts shared by several clients are omitted, because they would reveal what other clients did (§8.2 of the draft).
 *
 * @param results the results of all limits that have counted the request; they replace the headers' earlier values
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

/** The error for an attempt that a limit refuses. */
export function tooManyRequests({ resetInSeconds, buckets }: ThrottleResult, sentence?: Message): AshlarError {
  // A whole campus may share an address, and most of the people there haven't attempted anything.
  const refusing = buckets.filter(({ allowed }) => !allowed);
  const isNetworks = refusing.length > 0 && refusing.every(({ isOfNetwork }) => isOfNetwork);
  const key = isNetworks ? "throttle.waitForNetwork" : "throttle.wait";
  const said = sentence ?? message(key, { wait: waitOf(resetInSeconds) });
  return new AshlarError("E_TOO_MANY_REQUESTS", said, {
    headers: { "Retry-After": String(resetInSeconds) },
  });
}

/** A duration for messages. Two minutes or more are given in minutes, rounded up. */
export function waitOf(seconds: number): Duration {
  return seconds < 120 ? { seconds } : { minutes: Math.ceil(seconds / 60) };
}
