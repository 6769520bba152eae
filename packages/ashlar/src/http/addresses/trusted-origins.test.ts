import { describe, expect, test } from "vitest";
import { isSameSite, parseOrigins, TrustedOrigins } from "./trusted-origins.ts";

describe("a list of origins", () => {
  test("has each origin as browsers write it, once", () => {
    const entries = [
      "https://app.shop.example",
      "HTTPS://App.Shop.Example:443/",
      "http://localhost:5173",
      "https://bücher.example",
      "http://[::1]:8080",
    ];
    expect(parseOrigins(entries)).toEqual([
      "https://app.shop.example",
      "http://localhost:5173",
      "https://xn--bcher-kva.example",
      "http://[::1]:8080",
    ]);
  });

  test.each([
    "*",
    "https://*",
    "https://*.shop.example",
    "null",
    "",
    "shop.example",
    "//shop.example",
    "https:shop.example",
    "https://shop.example/app",
    "https://shop.example?",
    "https://shop.example#",
    "https://ada@shop.example",
    "https://shop.example https://evil.example",
    "https://shop.example\\@evil.example",
    "https://",
    "ftp://shop.example",
    "file:///",
    "chrome-extension://abcdefgh",
    "https://shop.example:99999",
  ])("S106 does not have %j", (entry) => {
    expect(parseOrigins([entry])).toMatch(/^contains /);
  });

  test("S106 is compared exactly", () => {
    const origins = new TrustedOrigins(["https://app.shop.example"]);
    expect(origins.includes("https://app.shop.example")).toBe(true);
    for (const other of [
      ...["http://app.shop.example", "https://app.shop.example:8443", "https://app.shop.example.evil.example"],
      ...["https://evil-app.shop.example", "https://shop.example", "https://app.shop.example/", "null", "", null],
    ]) {
      expect(origins.includes(other)).toBe(false);
    }
    expect(new TrustedOrigins().includes("null")).toBe(false);
  });
});

test.each<[string, string, boolean]>([
  ["https://app.shop.example", "https://shop.example", true],
  ["https://app.shop.example:8443", "https://api.shop.example", true],
  ["http://app.shop.example", "https://shop.example", false],
  ["https://shop.example", "https://other.example", false],
  ["https://ada.github.io", "https://bob.github.io", false],
  ["https://a.shop.co.uk", "https://b.shop.co.uk", true],
  ["https://a.co.uk", "https://b.co.uk", false],
  ["http://localhost:5173", "http://localhost:3000", true],
  ["http://127.0.0.1:5173", "http://localhost:3000", false],
  ["http://127.0.0.1:5173", "http://127.0.0.1:3000", true],
  ["http://app.localhost:5173", "http://localhost:3000", false],
  ["http://a.app.localhost:5173", "http://app.localhost:3000", true],
])("browsers treat %s and %s as one site: %s", (one, other, expected) => {
  expect(isSameSite(one, other)).toBe(expected);
  expect(isSameSite(other, one)).toBe(expected);
});
