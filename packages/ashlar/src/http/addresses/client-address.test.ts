import { isIPv4 } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { cpuTimeOf } from "../../../test/support/cpu-time.ts";
import { canonicalAddress, createAddressResolver, isPublicAddress, parseRange, UNIX_PEER } from "./client-address.ts";

const PUBLIC_V4 = "93.16.100.10";
const PUBLIC_V6 = "2606:2800:220:1:248:1893:25c8:1946";

describe("the canonical form of an address", () => {
  test.each([
    ["1.2.3.4", "1.2.3.4"],
    ["::ffff:1.2.3.4", "1.2.3.4"],
    ["::FFFF:102:304", "1.2.3.4"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["2001:db8:0:1:0:0:0:1", "2001:db8:0:1::1"],
    ["::1", "::1"],
    ["::", "::"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
    ["fe80::1%eth0", "fe80::1"],
    ["64:ff9b::1.2.3.4", "64:ff9b::102:304"],
    ["::1.2.3.4", "::102:304"],
    ["1:2:3:4:5:6:7.8.9.10", "1:2:3:4:5:6:708:90a"],
  ])("S44 %s is %s", (text, expected) => {
    expect(canonicalAddress(text)).toBe(expected);
  });

  test.each([
    "",
    "garbage",
    "unknown",
    "_hidden",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "010.1.1.1",
    "0x7f.0.0.1",
    "2130706433",
    "1.2.3.4%eth0",
    "1.2.3.4:80",
    "1::2::3",
    "12345::",
    ":::",
    "g::",
    " 1.2.3.4",
    "1.2.3.4\n",
    "1.2.3.4/8",
    "::ffff:1.2.3.256",
    "x".repeat(10_000),
  ])("S44 %j is not an address", (text) => {
    expect(canonicalAddress(text)).toBeNull();
  });

  test("S44 every address has one canonical form", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        const canonical = canonicalAddress(address);
        expect(canonical).not.toBeNull();
        expect(canonicalAddress(canonical!)).toBe(canonical);
      }),
      { numRuns: 500 },
    );
  });

  test("S44 an IPv4-mapped address counts as its IPv4", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(canonicalAddress(`::ffff:${address}`)).toBe(canonicalAddress(address));
      }),
    );
  });

  test("S44 never throws, whatever the text", () => {
    const piece = fc.constantFrom("1", "255", "0", "ffff", ":", "::", ".", "%", "/", "[", "]", "g");
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece).map((list) => list.join("")),
          anyText(),
        ),
        (text) => {
          const address = canonicalAddress(text);
          expect(address === null || typeof address === "string").toBe(true);
          expect(isPublicAddress(text) && address === null).toBe(false);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe("a public address", () => {
  test.each([
    PUBLIC_V4,
    "8.8.8.8",
    "1.1.1.1",
    "172.15.0.1",
    "172.32.0.1",
    "192.167.2.1",
    "100.63.0.1",
    PUBLIC_V6,
    "2a00::1",
  ])("S44 %s is public", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test.each([
    ["10.0.0.1", "private"],
    ["172.16.0.2", "private"],
    ["172.31.255.255", "private"],
    ["192.168.1.1", "private"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["0.0.0.0", "unspecified"],
    ["0.1.2.3", "this network"],
    ["169.254.169.254", "link-local"],
    ["100.64.0.1", "carrier-grade NAT"],
    ["100.127.255.255", "carrier-grade NAT"],
    ["192.0.2.1", "documentation"],
    ["198.51.100.1", "documentation"],
    ["203.0.113.1", "documentation"],
    ["198.18.0.1", "benchmarking"],
    ["192.0.0.1", "protocol assignments"],
    ["192.88.99.1", "6to4 relays"],
    ["224.0.0.1", "multicast"],
    ["240.0.0.1", "reserved"],
    ["255.255.255.255", "broadcast"],
    ["::ffff:10.0.0.1", "private, mapped"],
    ["::1", "loopback"],
    ["::", "unspecified"],
    ["::1.2.3.4", "IPv4-compatible"],
    ["fe80::1", "link-local"],
    ["fec0::1", "site-local"],
    ["fc00::1", "unique local"],
    ["fd12:3456::1", "unique local"],
    ["ff02::1", "multicast"],
    ["2001:db8::1", "documentation"],
    ["3fff::1", "documentation"],
    ["2002:808:808::1", "6to4"],
    ["2001::1", "Teredo"],
    ["2001:2::1", "benchmarking"],
    ["2001:20::1", "ORCHID"],
    ["64:ff9b::808:808", "NAT64"],
    ["64:ff9b:1::1", "NAT64"],
    ["100::1", "discard"],
    ["5f00::1", "segment routing"],
    ["4000::1", "not assigned"],
    ["8000::1", "not assigned"],
  ])("S44 %s (%s) is not public", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

test("S44 headers from a program on a Unix socket count only if the socket is one of the proxies", () => {
  const headers = new Headers({ "x-forwarded-for": PUBLIC_V4 });
  const from = (...ranges: string[]) =>
    createAddressResolver(
      ["x-forwarded-for"],
      ranges.map((range) => (range === UNIX_PEER ? UNIX_PEER : parseRange(range)!)),
    ).resolve(headers, UNIX_PEER);
  expect(from("10.0.0.0/8", "::/0", "0.0.0.0/0")).toBeNull();
  expect(from("10.0.0.0/8", UNIX_PEER)).toBe(PUBLIC_V4);
});

describe("a range", () => {
  const contains = (range: string, peer: string) => {
    const resolver = createAddressResolver(["x-forwarded-for"], [parseRange(range)!]);
    return resolver.resolve(new Headers({ "x-forwarded-for": PUBLIC_V4 }), peer) === PUBLIC_V4;
  };

  test.each([
    ["10.0.0.1", "10.0.0.1", true],
    ["10.0.0.1", "10.0.0.2", false],
    ["10.0.0.0/8", "10.255.255.255", true],
    ["10.0.0.0/8", "11.0.0.0", false],
    ["10.0.0.77/8", "10.1.2.3", true],
    ["0.0.0.0/0", "9.9.9.9", true],
    ["0.0.0.0/0", "::1", false],
    ["10.0.0.0/8", "::ffff:10.1.1.1", true],
    ["::ffff:10.0.0.0/104", "10.1.1.1", true],
    ["::ffff:10.0.0.1", "10.0.0.1", true],
    ["2001:db8::/32", "2001:db8:ffff::1", true],
    ["2001:db8::/32", "2001:db9::1", false],
    ["::1", "::1", true],
    ["fe80::/10", "fe80::1%eth0", true],
  ])("%s contains %s: %s", (range, peer, expected) => {
    expect(contains(range, peer)).toBe(expected);
  });

  test.each([
    "",
    "garbage",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/08",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "10.0.0/8",
    "::/129",
    "::ffff:10.0.0.0/8",
    "10.0.0.0/8.0",
    "fe80::1%eth0/64",
  ])("%j is not a range", (range) => {
    expect(parseRange(range)).toBeNull();
  });
});

describe("the client's address, with all headers trusted", () => {
  const order = [
    "client-ip",
    "x-forwarded-for",
    "x-forwarded",
    "x-cluster-client-ip",
    "forwarded-for",
    "forwarded",
    "REMOTE_ADDR",
  ];
  const resolver = createAddressResolver(order, []);
  const resolve = (headers: Record<string, string>, peer: string | null = "10.1.1.1") =>
    resolver.resolve(new Headers(headers), peer);

  test("S44 is the first public address in the first header that contains one", () => {
    expect(resolve({ "x-forwarded-for": "10.0.0.1, 8.8.8.8, 1.1.1.1" })).toBe("8.8.8.8");
    expect(resolve({ "client-ip": "172.16.0.2,255.255.255.255", "x-forwarded": PUBLIC_V4 }, "192.167.2.1")).toBe(
      PUBLIC_V4,
    );
    expect(resolve({ "x-forwarded-for": "8.8.8.8", "client-ip": "1.1.1.1" })).toBe("1.1.1.1");
    expect(resolve({ "forwarded-for": "8.8.8.8", "x-cluster-client-ip": "1.1.1.1" })).toBe("1.1.1.1");
  });

  test("S44 is the socket's address, in canonical form, if no header contains a public one", () => {
    expect(resolve({ "x-forwarded-for": "garbage" })).toBe("10.1.1.1");
    expect(resolve({ "x-forwarded-for": "10.0.0.1" }, "::ffff:127.0.0.1")).toBe("127.0.0.1");
    expect(resolve({}, "192.167.2.1")).toBe("192.167.2.1");
    expect(resolve({}, "fe80::1%lo0")).toBe("fe80::1");
    expect(resolve({}, null)).toBeNull();
    expect(resolve({ "x-forwarded-for": "8.8.8.8" }, null)).toBe("8.8.8.8");
  });

  test("is the socket's address when REMOTE_ADDR comes first in the order", () => {
    const socketFirst = createAddressResolver(["REMOTE_ADDR", "x-forwarded-for"], []);
    const headers = new Headers({ "x-forwarded-for": "8.8.8.8" });
    expect(socketFirst.resolve(headers, "1.1.1.1")).toBe("1.1.1.1");
    expect(socketFirst.resolve(headers, "10.0.0.1")).toBe("8.8.8.8");
  });

  test.each([
    ["8.8.8.8:443", "8.8.8.8"],
    ['"8.8.8.8:443"', "8.8.8.8"],
    ["[2606:2800:220:1:248:1893:25c8:1946]:443", PUBLIC_V6],
    ["[2606:2800:220:1:248:1893:25c8:1946]", PUBLIC_V6],
    ["2606:2800:0220:0001:0248:1893:25C8:1946", PUBLIC_V6],
    ["::ffff:8.8.8.8", "8.8.8.8"],
    ["[::ffff:8.8.8.8]:80", "8.8.8.8"],
    [" \t8.8.8.8 ", "8.8.8.8"],
    ["unknown, _hidden, , ;, 8.8.8.8", "8.8.8.8"],
    ["8.8.8.8:port, 1.1.1.1", "1.1.1.1"],
    ["8.8.8.8:123456, 1.1.1.1", "1.1.1.1"],
    ["[8.8.8.8], 1.1.1.1", "1.1.1.1"],
    ["08.8.8.8, 1.1.1.1", "1.1.1.1"],
    ["8.8.8.8.8, 1.1.1.1", "1.1.1.1"],
    ["for=8.8.8.8, 1.1.1.1", "1.1.1.1"],
    ["<script>, 1.1.1.1", "1.1.1.1"],
  ])("S44 for X-Forwarded-For %j it is %s", (value, expected) => {
    expect(resolve({ "x-forwarded-for": value })).toBe(expected);
  });

  test.each([
    ["for=8.8.8.8", "8.8.8.8"],
    ["For=8.8.8.8;proto=https;by=10.0.0.1", "8.8.8.8"],
    ["proto=https; for=8.8.8.8 ;host=a", "8.8.8.8"],
    ['for="8.8.8.8:4711"', "8.8.8.8"],
    ['for="[2606:2800:220:1:248:1893:25c8:1946]:4711"', PUBLIC_V6],
    ["for=10.0.0.1, for=8.8.8.8", "8.8.8.8"],
    ["for=unknown, for=_mystery, for=8.8.8.8", "8.8.8.8"],
    ["by=8.8.8.8", "10.1.1.1"],
    ["8.8.8.8", "10.1.1.1"],
    ["xfor=8.8.8.8", "10.1.1.1"],
    ["for", "10.1.1.1"],
    ["for=", "10.1.1.1"],
    ['for="', "10.1.1.1"],
  ])("S44 for Forwarded %j it is %s (RFC 7239)", (value, expected) => {
    expect(resolve({ forwarded: value })).toBe(expected);
  });

  test("S44 only 8 KiB of a huge header are read, and quickly", () => {
    const time = cpuTimeOf(() => {
      expect(resolve({ "x-forwarded-for": `${"10.0.0.1,".repeat(100_000)}8.8.8.8` })).toBe("10.1.1.1");
      expect(resolve({ "x-forwarded-for": "1".repeat(1_000_000) })).toBe("10.1.1.1");
      expect(resolve({ forwarded: "for=;".repeat(200_000) })).toBe("10.1.1.1");
    });
    expect(time).toBeLessThan(2000);
  });

  test("S44 no header makes it throw, and the result is canonical", () => {
    const piece = fc.constantFrom(
      "8.8.8.8",
      "10.0.0.1",
      "::1",
      "[",
      "]",
      ":80",
      ",",
      ";",
      "for=",
      '"',
      " ",
      "unknown",
      "%",
      "=",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const value = pieces.join("");
        for (const header of order.slice(0, 6)) {
          const address = resolve({ [header]: value });
          expect(address).toBe(canonicalAddress(address!));
        }
      }),
      { numRuns: 500 },
    );
  });

  test("S44 a public address is found at any position among other entries", () => {
    const skipped = fc.constantFrom("10.0.0.1", "unknown", "garbage", "::1", "", "224.0.0.1", "100.64.1.1:80");
    fc.assert(
      fc.property(fc.array(skipped), fc.ipV4(), fc.array(fc.ipV4()), (before, address, after) => {
        fc.pre(isPublicAddress(address) && isIPv4(address));
        expect(resolve({ "x-forwarded-for": [...before, address, ...after].join(", ") })).toBe(address);
      }),
    );
  });
});
