import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { cpuTimeOf } from "../../../test/support/cpu-time.ts";
import { parseBearerToken } from "./request.ts";

describe("the bearer token of an Authorization header", () => {
  test("S14 the scheme is case-insensitive", () => {
    for (const scheme of ["Bearer", "bearer", "BEARER", "bEaReR"])
      expect(parseBearerToken(`${scheme} abc`)).toBe("abc");
  });

  test("S14 every character of RFC 6750 and padding at the end make a token", () => {
    expect(parseBearerToken("Bearer aZ09-._~+/==")).toBe("aZ09-._~+/==");
  });

  test("several spaces before the token are one separator", () => {
    expect(parseBearerToken("Bearer    abc")).toBe("abc");
  });

  test.each([
    ["no header", null],
    ["an empty one", ""],
    ["the scheme alone", "Bearer"],
    ["the scheme and a space", "Bearer "],
    ["a token alone", "abc"],
    ["another scheme", "Basic dXNlcjpwYXNz"],
    ["a scheme that ends so", "XBearer abc"],
    ["a scheme that begins so", "BearerX abc"],
    ["no space between", "Bearerabc"],
    ["a tab between", "Bearer\tabc"],
    ["two values in one header", "Bearer abc, Bearer def"],
    ["two tokens", "Bearer abc def"],
    ["a parameter", 'Bearer realm="x"'],
    ["padding in the middle", "Bearer a=b"],
    ["padding alone", "Bearer =="],
    ["a quoted token", 'Bearer "abc"'],
    ["a character beyond ASCII", "Bearer abcé"],
    ["white space in front", " Bearer abc"],
    ["white space at the end", "Bearer abc "],
    ["a line break at the end", "Bearer abc\n"],
  ])("S14 %s is not a token", (_, header) => {
    expect(parseBearerToken(header)).toBeNull();
  });

  test("S14 two headers, as the platform joins them, are not a token", () => {
    const headers = new Headers([
      ["authorization", "Bearer abc"],
      ["authorization", "Bearer abc"],
    ]);
    expect(parseBearerToken(headers.get("authorization"))).toBeNull();
  });

  test("any token in the alphabet comes back unchanged, and nothing else is accepted", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9\-._~+/]{1,80}={0,2}$/), (token) => {
        expect(parseBearerToken(`Bearer ${token}`)).toBe(token);
      }),
    );
    fc.assert(
      fc.property(anyText(), (text) => {
        const token = parseBearerToken(`Bearer ${text}`);
        expect(token === null || /^[A-Za-z0-9\-._~+/]+=*$/.test(token)).toBe(true);
      }),
    );
  });

  test("a header of 200,000 characters is parsed quickly", () => {
    const time = cpuTimeOf(() => {
      expect(parseBearerToken(`Bearer ${" ".repeat(100_000)}${"=".repeat(100_000)}!`)).toBeNull();
      expect(parseBearerToken(`Bearer ${"a".repeat(200_000)}!`)).toBeNull();
    });
    expect(time).toBeLessThan(1000);
  });
});
