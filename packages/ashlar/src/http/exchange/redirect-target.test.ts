import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { pathWithin, redirectTarget } from "./redirect-target.ts";

const FALLBACK = "/home";

describe("a redirect target from input", () => {
  test.each([
    "/",
    "/orders",
    "/orders/",
    "/orders/7?page=2&q=a%20b#items",
    "/a//b",
    "/search?next=https://other.example/",
    "/@user",
    "/a:b",
    "/javascript:alert(1)",
    "/.well-known/change-password",
    "/caf%C3%A9",
  ])("%s is a path on the same origin, and is kept unchanged", (target) => {
    expect(redirectTarget(target, FALLBACK)).toBe(target);
  });

  test("non-ASCII characters are percent-encoded, and dot segments are removed", () => {
    expect(redirectTarget("/café?q=ü", FALLBACK)).toBe("/caf%C3%A9?q=%C3%BC");
    expect(redirectTarget("/a b", FALLBACK)).toBe("/a%20b");
    expect(redirectTarget("/a/../b", FALLBACK)).toBe("/b");
  });

  test.each([
    "//e",
    "/\\e",
    "\\\\e",
    "\\/e",
    "https:e",
    "https:/e",
    "https:///e",
    "https://e",
    "HTTPS://e",
    "http://own.invalid/x",
    "/%09/e",
    "/%5ce",
    "/%5Ce",
    "/%2fe",
    "/%2Fe",
    "@e",
    "e",
    "e.example",
    "?next=//e",
    "#e",
    ".",
    "..//e",
    "javascript:alert(1)",
    "javascript://x%0aalert(1)",
    "data:text/html,x",
    "vbscript:x",
    "/a\r\nSet-Cookie: x=1",
    "/a%0d%0aSet-Cookie:%20x=1",
    "/a%0A",
    "/a\n",
    "\n/a",
    "\t//e",
    "/\t/e",
    "/\n/e",
    "/\0",
    "/a%00",
    "/\u0085",
    "/\u2028/e",
    "/\u2029",
    " /a",
    " //e",
    "///e",
    "////e",
    "/a\\b",
    "/a%5cb",
    "/.//e",
    "/./\\e",
    "/a/..//e",
    "/a/../..//e",
    "/%2e//e",
    "/%2e%2e//e",
    "/./%2fe",
    "/.%09//e",
    "/100%",
    "/%zz",
    "/%ff",
    "",
  ])("S29 %j is replaced with the default", (target) => {
    expect(redirectTarget(target, FALLBACK)).toBe(FALLBACK);
  });

  test("S29 a target of 4 KiB is replaced with the default, one of 2048 characters is kept", () => {
    expect(redirectTarget(`/${"a".repeat(4095)}`, FALLBACK)).toBe(FALLBACK);
    expect(redirectTarget(`/${"a".repeat(2048)}`, FALLBACK)).toBe(FALLBACK);
    expect(redirectTarget(`/${"a".repeat(2047)}`, FALLBACK)).toBe(`/${"a".repeat(2047)}`);
    expect(redirectTarget(`/${"é".repeat(1000)}`, FALLBACK)).toBe(FALLBACK);
  });

  test.each([[undefined], [null], [1], [true], [["/a"]], [{ toString: () => "/a" }], [new String("/a")]])(
    "S29 %j, which is not text, is replaced with the default",
    (target) => {
      expect(redirectTarget(target, FALLBACK)).toBe(FALLBACK);
    },
  );

  const nasty = fc.string({
    unit: fc.constantFrom(
      "/",
      "\\",
      "e",
      ".",
      "%",
      "2",
      "f",
      "F",
      "5",
      "c",
      "0",
      "9",
      "d",
      "a",
      "\t",
      "\n",
      ":",
      "@",
      "?",
      "#",
      "é",
    ),
    maxLength: 12,
  });

  test("S29 every accepted target stays on its origin, even if it is decoded once more", () => {
    const bases = ["https://shop.example/", "http://localhost:3000/a/b?c", "https://shop.example/deep/er/"];
    const check = (input: string) => {
      const target = redirectTarget(input, "refused");
      if (target === "refused") return;
      expect(target).toMatch(/^\/(?![/\\])[\x21-\x7e]*$/);
      for (const base of bases) {
        expect(new URL(target, base).origin).toBe(new URL(base).origin);
        expect(new URL(decodeURIComponent(target), base).origin).toBe(new URL(base).origin);
      }
    };
    fc.assert(
      fc.property(nasty, (text) => check(text)),
      { numRuns: 3000 },
    );
    fc.assert(
      fc.property(nasty, (text) => check(`/${text}`)),
      { numRuns: 3000 },
    );
    fc.assert(fc.property(anyText(), (text) => check(`/${text}`)));
  });

  test("S29 an accepted target is accepted again unchanged", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const target = redirectTarget(`/${text}`, FALLBACK);
        expect(redirectTarget(target, "/other")).toBe(target);
      }),
      { numRuns: 2000 },
    );
  });

  test("the path and query of any real URL are accepted", () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true }), (url) => {
        const { pathname, search } = new URL(url);
        fc.pre(!pathname.startsWith("//") && !/%(0|1|5c|7f|8|9|c2%[89])/i.test(pathname + search));
        let decodable = true;
        try {
          decodeURIComponent(pathname + search);
        } catch {
          decodable = false;
        }
        fc.pre(decodable);
        expect(redirectTarget(pathname + search, FALLBACK)).toBe(pathname + search);
      }),
    );
  });
});

describe("the path of a URL within the application's hosts", () => {
  const hosts = ["shop.example", "localhost:3000"];

  test.each([
    ["https://shop.example/a?b=1#c", "/a?b=1#c"],
    ["http://shop.example", "/"],
    ["https://shop.example:443/a", "/a"],
    ["http://localhost:3000/a", "/a"],
    ["https://SHOP.example/a", "/a"],
  ])("%s is %s", (url, path) => {
    expect(pathWithin(url, hosts)).toBe(path);
  });

  test.each([
    "https://other.example/a",
    "https://shop.example.evil/a",
    "https://evil@other.example/",
    "https://shop.example@other.example/",
    "https://localhost/a",
    "https://shop.example:8443/a",
    "ftp://shop.example/a",
    "javascript:alert(1)",
    "/a",
    "//shop.example/a",
    "",
    "garbage",
  ])("%s has no such path", (url) => {
    expect(pathWithin(url, hosts)).toBeNull();
  });
});
