import { expect, test } from "vitest";
import { enterBase, requestPath, sentPath, withBase, withoutBase } from "./request-url.ts";

test.each([
  ["/orders", "/shop/orders"],
  ["/orders?page=2#a", "/shop/orders?page=2#a"],
  ["/", "/shop/"],
  ["/?a=1", "/shop/?a=1"],
  ["/shop", "/shop"],
  ["/shop/orders", "/shop/orders"],
  ["/shop?a=1", "/shop?a=1"],
  ["/shopping", "/shop/shopping"],
  ["//evil.example", "//evil.example"],
  ["/\\evil.example", "/\\evil.example"],
  ["https://evil.example/", "https://evil.example/"],
  ["", ""],
])("%j is %j under a base path", (path, expected) => {
  expect(withBase("/shop", path)).toBe(expected);
  expect(withBase("", path)).toBe(path);
});

test.each([
  ["/shop/orders?a=1", "/orders?a=1"],
  ["/shop", "/"],
  ["/shop/", "/"],
  ["/shop?a=1", "/?a=1"],
  ["/shopping", null],
  ["/orders", null],
])("%j is %j within the base path", (path, expected) => {
  expect(withoutBase("/shop", path)).toBe(expected);
});

test("a request's path is the one within the application, once it has entered", () => {
  for (const [path, inside] of [
    ["/shop/orders", "/orders"],
    ["/shop", "/"],
    ["/shop//orders", "//orders"],
  ]) {
    const raw = new Request(`https://x.example${path}?a=1`);
    expect(enterBase(raw, "/shop")).toBe(true);
    expect([requestPath(raw), sentPath(raw)]).toEqual([inside, path]);
  }
});

test("S188 no header makes a path outside of the base path the application's", () => {
  for (const path of ["/admin", "/shopping", "/SHOP/admin", "/%73hop/admin", "//shop/admin"]) {
    const raw = new Request(`https://x.example${path}`, { headers: { "x-forwarded-prefix": "/shop" } });
    expect([path, enterBase(raw, "/shop"), requestPath(raw)]).toEqual([path, false, path]);
  }
});
