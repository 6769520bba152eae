import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { digest, digestEquals, randomToken } from "./digest.ts";

describe("digest", () => {
  test("it is the SHA-256 of the text, as 43 characters of base64url", () => {
    // The example "abc" in FIPS 180-4.
    expect(digest("abc")).toBe(
      Buffer.from("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "hex").toString("base64url"),
    );
    expect(digest("abc")).toHaveLength(43);
  });

  test("text beyond ASCII is digested as UTF-8", () => {
    expect(digest("é")).toBe(digest("\u00e9"));
    expect(digest("é")).not.toBe(digest("e\u0301"));
  });
});

describe("digestEquals", () => {
  test("it agrees with plain comparison", () => {
    const text = fc.string({ maxLength: 5, unit: fc.constantFrom("a", "b", "é") });
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(digestEquals(a, b)).toBe(a === b);
      }),
    );
  });

  test("digests of other lengths are unequal, and nothing is thrown", () => {
    expect(digestEquals(digest("a"), digest("a").slice(0, -1))).toBe(false);
    expect(digestEquals("", digest("a"))).toBe(false);
  });
});

describe("randomToken", () => {
  test("S17 it holds 256 random bits by default", () => {
    expect(randomToken()).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(Buffer.from(randomToken(16), "base64url")).toHaveLength(16);
    expect(Buffer.from(randomToken(1024), "base64url")).toHaveLength(1024);
  });

  test("no two tokens are equal", () => {
    const tokens = new Set(Array.from({ length: 1000 }, () => randomToken()));
    expect(tokens.size).toBe(1000);
  });

  test.each([0, 15, 1025, -32, 16.5, Number.NaN, Number.POSITIVE_INFINITY])("%d bytes are refused", (bytes) => {
    const message = "A random token must have between 16 and 1024 bytes.";
    expect(() => randomToken(bytes)).toThrow(expect.objectContaining({ code: "E_INVALID_CONFIGURATION", message }));
  });
});
