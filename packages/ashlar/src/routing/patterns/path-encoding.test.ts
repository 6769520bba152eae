import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import {
  decodeText,
  decodeUnreserved,
  encodeLiteral,
  encodeSegment,
  hasDotSegment,
  isUnusual,
  normalizeEscapes,
} from "./path-encoding.ts";

const text = fc.string({ unit: "grapheme" });

describe("escapes", () => {
  test("are written in upper case, and only for characters that need them", () => {
    expect(normalizeEscapes("/caf%c3%a9/%5b[é |")).toBe("/caf%C3%A9/%5B%5B%C3%A9%20%7C");
    expect(normalizeEscapes("/plain-._~!$&'()*+,;=:@")).toBe("/plain-._~!$&'()*+,;=:@");
  });

  test.each(["%", "%4", "%zz", "%ff", "%c3", "%c3%28", "%ed%a0%80", "%00", "\0", "\ud800"])(
    "%j are refused",
    (path) => {
      expect(() => normalizeEscapes(`/${path}`)).toThrow(
        expect.objectContaining({ code: "E_BAD_REQUEST", status: 400 }),
      );
    },
  );

  test("are resolved for unreserved characters and kept for all others", () => {
    expect(decodeUnreserved("/%61%2D%2e%5F%7E%2F%25%20%C3%A9%40")).toBe("/a-._~%2F%25%20%C3%A9%40");
    expect(decodeUnreserved("/%2561")).toBe("/%2561");
  });

  test("do not change when a normalized path is normalized again", () => {
    fc.assert(
      fc.property(text, (value) => {
        const once = normalizeEscapes(`/${encodeURIComponent(value.replaceAll("\0", ""))}`);
        expect(normalizeEscapes(once)).toBe(once);
        expect(decodeUnreserved(decodeUnreserved(once))).toBe(decodeUnreserved(once));
      }),
    );
  });

  test("a path that isUnusual does not flag is already normalized", () => {
    fc.assert(
      fc.property(fc.webPath(), (path) => {
        if (!isUnusual(path)) expect(normalizeEscapes(path)).toBe(path);
      }),
    );
    for (const path of ["/a%20b", "/a b", "/é", "/[a]", '/"', "/a|b", "/a\\b"]) expect(isUnusual(path)).toBe(true);
    expect(isUnusual("/a-b_c.d~e!f$g&h'i(j)k*l+m,n;o=p:q@r")).toBe(false);
  });
});

describe("values", () => {
  test("are decoded from a segment unchanged, or refused when it is encoded", () => {
    fc.assert(
      fc.property(anyText(), (value) => {
        const segment = encodeSegment(value);
        if (segment === null) {
          expect(/^\.{0,2}$|[/\\\p{Cc}]/u.test(value) || !value.isWellFormed()).toBe(true);
          return;
        }
        expect(segment).toMatch(/^[\w.~!'()*%-]+$/);
        expect(decodeText(segment)).toBe(value);
        expect(new URL(`http://host/a/${segment}/b`).pathname).toBe(`/a/${segment}/b`);
      }),
    );
  });

  test("are decoded once, or not at all", () => {
    expect(decodeText("a%2520b+c")).toBe("a%20b+c");
    expect(decodeText("%zz")).toBeNull();
  });
});

describe("literal text", () => {
  test("is encoded exactly like a normalized request path", () => {
    fc.assert(
      fc.property(
        text.filter((value) => /^[^/?#\\%\p{Cc}]+$/u.test(value) && !/^\.\.?$/.test(value)),
        (value) => {
          const path = new URL(`http://host/${value}/`).pathname;
          expect(`/${encodeLiteral(value)}/`).toBe(normalizeEscapes(path));
        },
      ),
    );
  });

  test("may be written with or without escapes", () => {
    expect(encodeLiteral("café")).toBe("caf%C3%A9");
    expect(encodeLiteral("caf%c3%a9")).toBe("caf%C3%A9");
    expect(encodeLiteral("%6cogin")).toBe("login");
    expect(encodeLiteral("a%2Fb")).toBe("a%2Fb");
  });

  test.each(["a?b", "a#b", "a\\b", "a\tb", "%", "%zz", "%ff", ".", "..", "%2e%2E", "\ud800"])(
    "%j is refused",
    (value) => {
      expect(() => encodeLiteral(value)).toThrow(expect.objectContaining({ code: "E_INVALID_ROUTE" }));
    },
  );
});

test("a dot segment consists of exactly one or two dots", () => {
  expect(["/.", "/..", "/a/.", "/a/../b", "/./a"].map(hasDotSegment)).toEqual([true, true, true, true, true]);
  expect(["/...", "/.a", "/a.", "/..a", "/a/.b./c", "/"].map(hasDotSegment)).toEqual(Array(6).fill(false));
});
