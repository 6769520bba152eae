import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { parseHost } from "./host.ts";

describe("host and subdomain", () => {
  test.each([
    ["work.example.com:8080", "example.com", "work"],
    ["example.com", "example.com", null],
    ["www.example.com", "example.com", "www"],
    ["a.b.co.uk", "b.co.uk", "a"],
    ["x.a.b.co.uk", "b.co.uk", "x.a"],
    ["WORK.Example.COM", "example.com", "work"],
    ["work.example.com.", "example.com", "work"],
    ["a_b.example.com", "example.com", "a_b"],
    ["a.b.internal", "b.internal", "a"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example", null],
  ])("%s is %s with the subdomain %s", (authority, host, subdomain) => {
    expect(parseHost(authority)).toEqual({ host, subdomain });
  });

  test("each name below a private suffix is a separate host", () => {
    expect(parseHost("shop.github.io")).toEqual({ host: "shop.github.io", subdomain: null });
    expect(parseHost("a.shop.github.io")).toEqual({ host: "shop.github.io", subdomain: "a" });
  });

  test.each([
    ["127.0.0.1:3000", "127.0.0.1"],
    ["8.8.8.8", "8.8.8.8"],
    ["[::1]:3000", "[::1]"],
    ["[2001:db8::1]", "[2001:db8::1]"],
    ["localhost", "localhost"],
    ["localhost:3000", "localhost"],
    ["intranet", "intranet"],
    ["co.uk", "co.uk"],
    ["example.com:", "example.com"],
  ])("%s is %s, without a subdomain", (authority, host) => {
    expect(parseHost(authority)).toEqual({ host, subdomain: null });
  });

  test("a host has up to 253 characters", () => {
    const longest = `${`${"a".repeat(62)}.`.repeat(3)}${"a".repeat(60)}.com`;
    expect(longest).toHaveLength(253);
    expect(parseHost(longest).host).toBe(`${"a".repeat(60)}.com`);
    expect(parseHost(`a${longest}`)).toEqual({ host: "", subdomain: null });
  });

  test("a label before localhost is a subdomain, for local development", () => {
    expect(parseHost("work.localhost:3000")).toEqual({ host: "localhost", subdomain: "work" });
  });

  test.each([
    "",
    " ",
    ".",
    "..",
    "a..b",
    ".example.com",
    "example.com..",
    "exa mple.com",
    "example.com/evil",
    "evil@example.com",
    "example.com:80:80",
    "example.com:port",
    "example.com:123456",
    "1.2.3.999",
    "1.2.3.4.5",
    "0x7f.1",
    "::1",
    "[::1",
    "[garbage]",
    "[::1]x",
    "[1.2.3.4]",
    "_invalid_",
    "b\u00fccher.example",
    "a\r\nb",
    "<script>",
    `${"a".repeat(64)}.com`,
    `${"a.".repeat(150)}com`,
  ])("%j is not a host, and gives an empty one", (authority) => {
    expect(parseHost(authority)).toEqual({ host: "", subdomain: null });
  });

  test("the host of any text is part of that text, or empty", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          anyText(),
          fc.domain(),
          fc.ipV4(),
          fc.ipV6().map((ip) => `[${ip}]`),
        ),
        (text) => {
          const { host, subdomain } = parseHost(text);
          expect(text.toLowerCase()).toContain(subdomain === null ? host : `${subdomain}.${host}`);
          expect(host).toMatch(/^([a-z0-9_.-]*|\[[0-9a-f:.]+\])$/);
        },
      ),
    );
  });

  test("subdomain and host together are always the complete domain", () => {
    fc.assert(
      fc.property(fc.domain(), fc.integer({ min: 0, max: 65_535 }), (domain, port) => {
        const { host, subdomain } = parseHost(`${domain}:${port}`);
        expect(subdomain === null ? host : `${subdomain}.${host}`).toBe(domain.toLowerCase());
      }),
    );
  });
});
