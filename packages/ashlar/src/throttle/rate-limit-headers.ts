import type { HttpResponse } from "../http/index.ts";
import type { Bucket } from "./configuration.ts";
import type { ThrottleResult } from "./result.ts";

/**
 * The value of `RateLimit-Policy` for the buckets of a limit, an item for each, such as `"login";q=5;w=300`
 * (draft-ietf-httpapi-ratelimit-headers-11 §3, structured fields); empty where none of them is told of.
 */
export function policyOf(buckets: readonly Bucket[]): string {
  const shown = buckets.filter(isPublic);
  return shown.map(({ name, attempts, windowSeconds }) => `"${name}";q=${attempts};w=${windowSeconds}`).join(", ");
}

/**
 * Writes what a limit said into `RateLimit-Policy` and `RateLimit`, the latter with an item for each bucket that was
 * asked, such as `"login";r=4;t=300` (§4 of the draft). Where several limits apply to a request, each adds its own.
 *
 * @param policy what {@link policyOf} gives
 */
export function writeRateLimit(response: HttpResponse, policy: string, result: ThrottleResult): void {
  const states: string[] = [];
  for (const { bucket, remaining, resetInSeconds } of result.buckets) {
    if (isPublic(bucket)) states.push(`"${bucket.name}";r=${remaining};t=${resetInSeconds}`);
  }
  if (policy !== "") response.appendHeader("RateLimit-Policy", policy);
  if (states.length > 0) response.appendHeader("RateLimit", states.join(", "));
}

/** §8.2 of the draft: what is counted for an account, whoever tries it, would tell each of them what the others did. */
function isPublic({ by }: Bucket): boolean {
  return by.includes("address");
}
