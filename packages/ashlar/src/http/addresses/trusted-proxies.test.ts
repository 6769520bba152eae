import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createAddressResolver, parseRange } from "./client-address.ts";

describe("the client's address behind trusted proxies", () => {
  const proxies = ["10.0.0.0/8", "203.0.113.7"].map((range) => parseRange(range)!);
  const resolver = createAddressResolver(["client-ip", "x-forwarded-for", "REMOTE_ADDR"], proxies);
  const resolve = (headers: Record<string, string>, peer: string | null) =>
    resolver.resolve(new Headers(headers), peer);

  test("S44 headers from any other peer are ignored", () => {
    expect(resolve({ "x-forwarded-for": "8.8.8.8", "client-ip": "9.9.9.9" }, "1.1.1.1")).toBe("1.1.1.1");
    expect(resolve({ "x-forwarded-for": "8.8.8.8" }, "192.168.0.1")).toBe("192.168.0.1");
    expect(resolve({ "x-forwarded-for": "8.8.8.8" }, null)).toBeNull();
  });

  test("S44 X-Forwarded-For is walked from the right, so that nothing a client writes there counts", () => {
    expect(resolve({ "x-forwarded-for": "6.6.6.6, 8.8.8.8" }, "10.0.0.1")).toBe("8.8.8.8");
    expect(resolve({ "x-forwarded-for": "6.6.6.6, 8.8.8.8, 203.0.113.7, 10.9.9.9" }, "10.0.0.1")).toBe("8.8.8.8");
    expect(resolve({ "x-forwarded-for": "6.6.6.6, 192.168.1.1" }, "10.0.0.1")).toBe("192.168.1.1");
  });

  test("S44 no other header counts, not even from a proxy", () => {
    expect(resolve({ "client-ip": "6.6.6.6" }, "10.0.0.1")).toBe("10.0.0.1");
    expect(resolve({ "client-ip": "6.6.6.6", "x-forwarded-for": "8.8.8.8" }, "10.0.0.1")).toBe("8.8.8.8");
  });

  test("S44 entries to the left of one that is not an address do not count", () => {
    expect(resolve({ "x-forwarded-for": "6.6.6.6, unknown, 10.0.0.2" }, "10.0.0.1")).toBe("10.0.0.2");
    expect(resolve({ "x-forwarded-for": "6.6.6.6, " }, "10.0.0.1")).toBe("10.0.0.1");
    expect(resolve({ "x-forwarded-for": "" }, "10.0.0.1")).toBe("10.0.0.1");
  });

  test("a request that began at a proxy has that proxy's address", () => {
    expect(resolve({ "x-forwarded-for": "10.0.0.3, 10.0.0.2" }, "10.0.0.1")).toBe("10.0.0.3");
    expect(resolve({}, "10.0.0.1")).toBe("10.0.0.1");
  });

  test("S44 of a header that is too long, only the end counts, which the proxy wrote", () => {
    expect(resolve({ "x-forwarded-for": `${"6.6.6.6,".repeat(5000)}8.8.8.8` }, "10.0.0.1")).toBe("8.8.8.8");
    expect(resolve({ "x-forwarded-for": `${"6".repeat(10_000)},8.8.8.8` }, "10.0.0.1")).toBe("8.8.8.8");
    expect(resolve({ "x-forwarded-for": "6".repeat(10_000) }, "10.0.0.1")).toBe("10.0.0.1");
  });

  test("S44 an entry that is cut because the header is too long is not an address", () => {
    const end = `8.8.8.8${" ".repeat(4)}${",10.0.0.2".repeat(909)}`;
    expect(end).toHaveLength(8192);
    expect(resolve({ "x-forwarded-for": `9${end}` }, "10.0.0.1")).toBe("10.0.0.2");
    expect(resolve({ "x-forwarded-for": end }, "10.0.0.1")).toBe("8.8.8.8");
  });

  test("the first of the listed headers is read if X-Forwarded-For is not among them", () => {
    const named = createAddressResolver(["REMOTE_ADDR", "cf-connecting-ip"], proxies);
    const headers = new Headers({ "cf-connecting-ip": "8.8.8.8", "x-forwarded-for": "6.6.6.6" });
    expect(named.resolve(headers, "10.0.0.1")).toBe("8.8.8.8");
    expect(named.resolve(headers, "1.1.1.1")).toBe("1.1.1.1");
    expect(createAddressResolver(["REMOTE_ADDR"], proxies).resolve(headers, "10.0.0.1")).toBe("10.0.0.1");
    const forwarded = createAddressResolver(["forwarded"], proxies);
    expect(forwarded.resolve(new Headers({ forwarded: 'for=6.6.6.6, for="8.8.8.8:1"' }), "10.0.0.1")).toBe("8.8.8.8");
  });

  test("S44 the address that the proxy saw is found, whatever the client writes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii", maxLength: 60 }), fc.ipV4(), (forged, seen) => {
        fc.pre(!seen.startsWith("10.") && seen !== "203.0.113.7");
        const headers = new Headers({ "x-forwarded-for": `${forged.trim()}, ${seen}`, "client-ip": "6.6.6.6" });
        expect(resolver.resolve(headers, "10.0.0.1")).toBe(seen);
      }),
    );
  });
});
