import { expect, test } from "vitest";
import { cachingHeader, type VisitorDependence } from "./visitor-caching.ts";

const PRIVATE = ["cache-control", "private, no-store"];
const BY_COOKIE = ["vary", "cookie"];

test.each<[VisitorDependence, string | null, string | null, readonly string[] | null]>([
  ["none", null, null, null],
  ["none", "public", null, null],
  ["asked", null, null, null],
  ["shown", null, null, PRIVATE],
  ["shown", null, "cookie", PRIVATE],
  ["asked", "public", null, BY_COOKIE],
  ["shown", "public, max-age=60", "accept", BY_COOKIE],
  ["shown", "public", "x-cookie", BY_COOKIE],
  // Never stored by a cache.
  ["asked", "No-Store", null, null],
  ["shown", "private, no-store", "accept", null],
  // Already varies by the cookie, or matches no later request.
  ["shown", "public", "Accept, Cookie", null],
  ["shown", "public", "*", null],
  ["asked", "public", "accept, *", null],
])("a response that depends on the visitor as %j, with Cache-Control %j and Vary %j, gains %j", (...given) => {
  const [dependence, cacheControl, vary, gained] = given;
  expect(cachingHeader(dependence, cacheControl, vary)).toEqual(gained);
});
