import type { HttpResponse } from "../../http/index.ts";
import type { Bucket } from "../settings.ts";
import type { ThrottleResult } from "./result.ts";

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
