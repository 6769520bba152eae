import { inspect } from "node:util";
import { expect, test } from "vitest";
import { makeContext } from "../../../test/support/http-context.ts";
import { cachingHeader, type VisitorDependence } from "./response-head.ts";

const PRIVATE = ["cache-control", "private, no-store"];
const BY_COOKIE = ["vary", "cookie"];

test.each<[VisitorDependence, string | null, string | null, readonly string[] | null]>([
  ["none", null, null, null],
  ["none", "public", null, null],
  // Some caches store responses without cache headers.
  ["asked", null, null, BY_COOKIE],
  ["asked", null, "accept", ["vary", "accept, cookie"]],
  ["shown", null, null, PRIVATE],
  ["shown", null, "cookie", PRIVATE],
  ["asked", "public", null, BY_COOKIE],
  ["shown", "public, max-age=60", "accept", ["vary", "accept, cookie"]],
  ["shown", "public", "x-cookie", ["vary", "x-cookie, cookie"]],
  // Never stored by a cache.
  ["asked", "No-Store", null, null],
  ["shown", "private, no-store", "accept", null],
  // It already varies by the cookie, or matches no later request.
  ["shown", "public", "Accept, Cookie", null],
  ["shown", "public", "*", null],
  ["asked", "public", "accept, *", null],
  // These contain the cookie itself.
  ["identified", null, null, PRIVATE],
  ["identified", "public", "*", PRIVATE],
  ["identified", "no-store", null, PRIVATE],
])("a response that depends on the visitor as %j, with Cache-Control %j and Vary %j, gets %j", (...given) => {
  const [dependence, cacheControl, vary, header] = given;
  expect(cachingHeader(dependence, false, cacheControl, vary)).toEqual(header);
});

test.each<[VisitorDependence, string | null, string | null, readonly string[] | null]>([
  ["none", null, null, ["vary", "authorization"]],
  ["none", "public", null, ["vary", "authorization"]],
  ["none", "public", "Accept, Authorization", null],
  ["none", "public", "*", null],
  ["none", "no-store", null, null],
  ["asked", null, null, ["vary", "cookie, authorization"]],
  ["asked", "public", null, ["vary", "cookie, authorization"]],
  ["shown", null, null, PRIVATE],
  ["shown", "public", "cookie", ["vary", "cookie, authorization"]],
  ["shown", "public", "Authorization", ["vary", "Authorization, cookie"]],
  ["identified", "public", null, PRIVATE],
])("if it depends on a token, and on the visitor as %j, with Cache-Control %j and Vary %j, it gets %j", (...given) => {
  const [dependence, cacheControl, vary, header] = given;
  expect(cachingHeader(dependence, true, cacheControl, vary)).toEqual(header);
});

test("a response that is written to the log doesn't reveal its request", () => {
  const { response } = makeContext({ headers: { authorization: "Bearer a-secret-token" } });
  response.header("x-other", "1");
  expect([Object.keys(response), JSON.stringify(response)]).toEqual([[], "{}"]);
  expect(inspect(response, { depth: 9 })).not.toContain("a-secret-token");
});
