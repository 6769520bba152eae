import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { compareDomains, hostName, matchDomain, parseDomain } from "./domain-pattern.ts";

/** Returns what a pattern captures from a host. */
function capture(pattern: string, host: string) {
  const name = hostName(host);
  const captured = name === null ? null : matchDomain(parseDomain(pattern), name);
  return captured === null ? null : { ...captured };
}

describe("hosts", () => {
  test.each([
    ["api", "api.example.com", {}],
    ["api", "API.example.co.uk:8080", {}],
    ["API", "api.localhost", {}],
    ["api", "example.com", null],
    ["api", "api.eu.example.com", null],
    ["api", "eu.api.example.com", null],
    ["api", "api", null],
    ["@account", "acme.example.com.", { account: "acme" }],
    ["@account", "www.example.com", { account: "www" }],
    ["@account", "example.com", null],
    ["@account", "10.0.0.1", null],
    ["@account", "[::1]:80", null],
    ["@account.example.com", "acme.example.com:443", { account: "acme" }],
    ["@account.example.com", "acme.example.org", null],
    ["@account.example.com", "a.acme.example.com", null],
    ["@account.example.com", "example.com", null],
    ["@a.@b.example.com", "x.y.example.com", { a: "x", b: "y" }],
    ["example.com", "example.com", {}],
    ["example.com", "www.example.com", null],
    ["10.0.0.1", "10.0.0.1:3000", {}],
  ])("%s against %s", (pattern, host, captured) => {
    expect(capture(pattern, host)).toEqual(captured);
  });

  test("patterns that match the same hosts have the same shape", () => {
    expect(parseDomain("@account.Example.com").shape).toBe(parseDomain("@tenant.example.COM").shape);
    expect(parseDomain("@a").shape).not.toBe(parseDomain("a").shape);
    expect(parseDomain("@a.example.com")).toMatchObject({ parameters: ["a"], isSubdomain: false });
    expect(parseDomain("@a")).toMatchObject({ parameters: ["a"], isSubdomain: true });
  });

  test("the more specific pattern sorts first", () => {
    const sorted = ["@a", "api", "@a.example.com", "api.example.com"].map(parseDomain).sort(compareDomains);
    expect(sorted.map(({ text }) => text)).toEqual(["api.example.com", "@a.example.com", "api", "@a"]);
  });

  test.each(["", ".", "a.", ".a", "a b", "a:80", "a/b", "@", "@1", "@a-b", "@__proto__", "@a.@a", "*", "a".repeat(64)])(
    "%j is not a pattern",
    (pattern) => {
      expect(() => parseDomain(pattern)).toThrow(expect.objectContaining({ code: "E_INVALID_ROUTE" }));
    },
  );

  test("no host that a client sends causes an error", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.domain(), anyText()), (host) => {
        const captured = capture("@account", host);
        if (captured !== null) expect(captured.account).toMatch(/^[a-z0-9_-]{1,63}$/);
      }),
    );
  });
});
