import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { cpuTimeOf } from "../../../test/support/cpu-time.ts";
import { AshlarError } from "../../support/index.ts";
import { type CookieOptions, cookieValue, parseCookies, serializeCookie } from "./cookies.ts";

/** The error code when a cookie is written. */
function refusal(name: string, value: string, options: CookieOptions = {}): string {
  try {
    return `written: ${serializeCookie(name, value, options, false)}`;
  } catch (error) {
    return error instanceof AshlarError ? error.code : String(error);
  }
}

describe("the cookies of a request", () => {
  test("names and values are decoded", () => {
    expect(parseCookies("token=abc; theme=dark%20blue;empty=; n=%C3%A9")).toEqual({
      token: "abc",
      theme: "dark blue",
      empty: "",
      n: "é",
    });
  });

  test("reading one cookie gives the same value as reading them all", () => {
    const piece = fc.constantFrom(
      "a",
      "b",
      "token",
      "__Host-a",
      "=",
      ";",
      "; ",
      " ",
      "\t",
      "%41",
      "%",
      "__proto__",
      "é",
      ",",
    );
    const header = fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join(""));
    const name = fc.constantFrom(
      "a",
      "b",
      "token",
      "tok",
      "__Host-a",
      "__proto__",
      "toString",
      "",
      "a=b",
      "a b",
      ";",
      "é",
    );
    const check = fc.property(header, name, (text, one) => {
      expect(cookieValue(text, one)).toBe(parseCookies(text)[one] ?? null);
    });
    fc.assert(check, { numRuns: 5000 });
    const long = `a=${"x".repeat(5000)}; a=short`;
    expect(cookieValue(long, "a")).toBe(parseCookies(long).a);
  });

  test("without a header there are no cookies", () => {
    expect(parseCookies(null)).toEqual({});
    expect(parseCookies("")).toEqual({});
  });

  test("S25 the first of duplicate cookies wins", () => {
    expect(parseCookies("token=first; token=second; token=")).toEqual({ token: "first" });
  });

  test("S25 an oversized cookie is dropped, and the others are kept", () => {
    expect(parseCookies(`a=1; big=${"x".repeat(4097)}; b=2`)).toEqual({ a: "1", b: "2" });
    expect(parseCookies(`big=${"x".repeat(4096)}`)).toEqual({ big: "x".repeat(4096) });
  });

  test("S25 invalid UTF-8 and broken percent-encoding are left as they are", () => {
    expect(parseCookies("a=%ff; b=%zz; c=100%; d=\u00ff\u00fe")).toEqual({
      a: "%ff",
      b: "%zz",
      c: "100%",
      d: "\u00ff\u00fe",
    });
  });

  test.each([
    "=",
    ";",
    ";;;;",
    "=;=;=",
    "a",
    "a;b;c",
    " = ",
    "=value",
    ";=;a=b=c;",
    "\0",
    "\u0000=\u0000",
    "a=b;=c",
    "__proto__",
  ])("S25 the garbage %j does not throw", (header) => {
    expect(() => parseCookies(header)).not.toThrow();
  });

  test("S43 the result has no prototype, and no cookie can set one", () => {
    const cookies = parseCookies("__proto__=x; constructor=y; prototype=z; toString=t; a=1");
    expect(Object.getPrototypeOf(cookies)).toBeNull();
    expect(Object.entries(cookies)).toEqual([
      ["toString", "t"],
      ["a", "1"],
    ]);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  test("S25 no header makes it throw, and every value is text", () => {
    const piece = fc.constantFrom(
      "a",
      "b",
      "=",
      ";",
      " ",
      ",",
      '"',
      "%",
      "%4",
      "%41",
      "%ff",
      "\\",
      "\t",
      "__proto__",
      "é",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece).map((list) => list.join("")),
          anyText(),
        ),
        (header) => {
          const cookies = parseCookies(header);
          expect(Object.getPrototypeOf(cookies)).toBeNull();
          expect(Object.values(cookies).every((value) => typeof value === "string")).toBe(true);
        },
      ),
      { numRuns: 1000 },
    );
  });

  test("S25 a megabyte of separators is parsed quickly", () => {
    const time = cpuTimeOf(() => {
      parseCookies(";".repeat(1_000_000));
      parseCookies("a;".repeat(500_000));
      parseCookies("=;".repeat(500_000));
      parseCookies(`${"a;".repeat(500_000)}=`);
    });
    expect(time).toBeLessThan(2000);
  });
});

describe("a cookie in the response", () => {
  test("S20 is HttpOnly, SameSite=Lax, valid for all paths, and Secure over https", () => {
    expect(serializeCookie("a", "b", {}, false)).toBe("a=b; Path=/; HttpOnly; SameSite=Lax");
    expect(serializeCookie("a", "b", {}, true)).toBe("a=b; Path=/; HttpOnly; Secure; SameSite=Lax");
  });

  test("every option has its attribute", () => {
    const options: CookieOptions = {
      maxAgeSeconds: 60,
      expires: new Date(0),
      path: "/shop",
      domain: "shop.example",
      secure: true,
      httpOnly: false,
      sameSite: "strict",
    };
    expect(serializeCookie("a", "b", options, false)).toBe(
      "a=b; Max-Age=60; Domain=shop.example; Path=/shop; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Secure; SameSite=Strict",
    );
    expect(serializeCookie("a", "b", { secure: false }, true)).toBe("a=b; Path=/; HttpOnly; SameSite=Lax");
  });

  test("characters that a cookie cannot contain are percent-encoded, and decode to the same value", () => {
    for (const value of ["a b", "é", '"quoted"', "a,b", "50%", "\\", '{"a":[1]}', "a=b=c", "😀", ""]) {
      const [pair = ""] = serializeCookie("a", value, {}, false).split(";");
      expect(pair).toMatch(/^a=[\x21-\x7e]*$/);
      expect(parseCookies(pair)).toEqual({ a: value });
    }
  });

  test.each([
    ["", "empty"],
    ["a b", "with a space"],
    ["a=b", "with ="],
    ["a;b", "with ;"],
    ["a\r\nSet-Cookie: x", "with a line break"],
    ["é", "beyond ASCII"],
    ["a,b", "with a comma"],
    ["a(b)", "with brackets"],
  ])("S25 the name %j (%s) is refused", (name) => {
    expect(refusal(name, "x")).toBe("E_INVALID_COOKIE");
  });

  test.each([
    "a\rb",
    "a\nb",
    "a\r\nSet-Cookie: x=1",
    "a;b",
    "a; Domain=evil",
    "a\0b",
    "a\u007fb",
    "a\u0085b",
    "\ud800",
  ])("S25 the value %j is refused", (value) => {
    expect(refusal("a", value)).toBe("E_INVALID_COOKIE");
    expect(() => serializeCookie("a", value, {}, false)).toThrow(/has a value that is not text/);
  });

  test("S25 a value that is not text is refused", () => {
    expect(refusal("a", 1 as unknown as string)).toBe("E_INVALID_COOKIE");
    expect(refusal("a", null as unknown as string)).toBe("E_INVALID_COOKIE");
  });

  test.each<CookieOptions>([
    { path: "/a;b" },
    { path: "/a\r\nx: y" },
    { path: "a" },
    { path: "" },
    { domain: "a;b" },
    { domain: "evil\r\nx: y" },
    { domain: "-" },
    { maxAgeSeconds: 1.5 },
    { maxAgeSeconds: Number.NaN },
    { maxAgeSeconds: Number.POSITIVE_INFINITY },
    { expires: new Date(Number.NaN) },
    { sameSite: "sometimes" as "lax" },
    { sameSite: "none" },
    { sameSite: "none", secure: false },
  ])("S25 the attributes %j are refused", (options) => {
    expect(refusal("a", "b", options)).toBe("E_INVALID_COOKIE");
  });

  test("S20 a cookie has at most 4096 bytes in total", () => {
    const rest = serializeCookie("a", "", {}, false).length;
    expect(serializeCookie("a", "x".repeat(4096 - rest), {}, false)).toHaveLength(4096);
    expect(refusal("a", "x".repeat(4097 - rest))).toBe("E_INVALID_COOKIE");
    expect(refusal("a", "é".repeat(1000))).toBe("E_INVALID_COOKIE");
  });

  test("S20 a __Host- cookie must be secure, for all paths and without a domain, whatever the case of its prefix", () => {
    expect(serializeCookie("__Host-a", "b", {}, false)).toBe("__Host-a=b; Path=/; HttpOnly; Secure; SameSite=Lax");
    for (const name of ["__Host-a", "__host-a", "__HOST-a"]) {
      expect(refusal(name, "b", { secure: false })).toBe("E_INVALID_COOKIE");
      expect(refusal(name, "b", { path: "/shop" })).toBe("E_INVALID_COOKIE");
      expect(refusal(name, "b", { domain: "shop.example" })).toBe("E_INVALID_COOKIE");
    }
  });

  test("S20 a __Secure- cookie must be secure, and may have a path and a domain", () => {
    expect(serializeCookie("__Secure-a", "b", { path: "/shop", domain: "shop.example" }, false)).toBe(
      "__Secure-a=b; Domain=shop.example; Path=/shop; HttpOnly; Secure; SameSite=Lax",
    );
    expect(refusal("__Secure-a", "b", { secure: false })).toBe("E_INVALID_COOKIE");
  });

  test("the message names the cookie and never its value", () => {
    expect(() => serializeCookie("token", "secret;secret", {}, false)).toThrow(
      'The cookie "token" has a value that is not text, or contains a semicolon or a control character.',
    );
  });

  test("S25 anything written is exactly one cookie, and reads back unchanged", () => {
    fc.assert(
      fc.property(anyText({ maxLength: 60 }), anyText({ maxLength: 60 }), (name, value) => {
        let written: string;
        try {
          written = serializeCookie(name, value, {}, false);
        } catch (error) {
          expect((error as AshlarError).code).toBe("E_INVALID_COOKIE");
          return;
        }
        expect(written).toMatch(/^[^;\s]+; Path=\/; HttpOnly; SameSite=Lax$/);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (value) => {
        fc.pre(!/[\p{Cc};]/u.test(value) && value.isWellFormed());
        expect(parseCookies(serializeCookie("a", value, {}, false).split(";")[0]!)).toEqual({ a: value });
      }),
    );
  });
});
