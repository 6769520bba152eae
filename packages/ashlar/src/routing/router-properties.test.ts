import * as fc from "fast-check";
import { addRoute, createRouter, findRoute } from "rou3";
import { describe, expect, test } from "vitest";
import { anyText } from "../../test/support/any-text.ts";
import { generateSecret, Signer } from "../security/index.ts";
import { AshlarError } from "../support/index.ts";
import { Route } from "./definitions/route.ts";
import { ownCompilers } from "./patterns/own-compilers.ts";
import { Router } from "./router.ts";

const signer = new Signer(generateSecret(), "signed-url");
const compilers = await ownCompilers({ own: /[\p{L}\p{N} /%?#-]+/u });

function routerFor(...patterns: string[]): Router {
  const entries = patterns.map((pattern) => Route.get(pattern, () => null).name(pattern));
  return new Router([{ entries, stack: null, prefix: "", respondsWithJson: false, file: "routes/web.ts" }], {
    signer,
    compilers,
  });
}

const readableText = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 30 })
  .filter((text) => text !== "." && text !== ".." && !/[/\\\p{Cc}]/u.test(text));
const letters = fc.stringMatching(/^[A-Za-z]{1,10}$/);
const slug = fc.stringMatching(/^[a-z0-9]{1,5}(?:-[a-z0-9]{1,5}){0,3}$/);
const digits = fc.stringMatching(/^\d{1,20}$/);
const ownText = fc.stringMatching(/^[a-zé0-9 %?#-]{1,20}$/u);
const rest = fc.array(readableText, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));

const VALUES: readonly (readonly [compiler: string, values: fc.Arbitrary<string>])[] = [
  ["", readableText],
  [":int", digits],
  [":integer", digits],
  [":string", letters],
  [":slug", slug],
  [":uuid", fc.uuid()],
  [":signed", fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 })],
  [":own", ownText],
];

const literal = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 8 })
  .filter((text) => !/[/?#\\%\p{Cc}]/u.test(text) && !/^(?:@|\.\.?$)/.test(text) && text.isWellFormed());

/** A pattern, and values that match it. */
const patternWithValues = fc
  .tuple(
    fc.array(
      fc.oneof(
        literal.map((text) => ({ text, value: null as string | null })),
        fc
          .constantFrom(...VALUES)
          .chain(([compiler, values]) =>
            values.map((value) => ({ text: `@name${compiler}`, value: value as string | null })),
          ),
      ),
      { maxLength: 4 },
    ),
    fc.option(rest),
  )
  .map(([parts, tail]) => {
    const values: Record<string, string> = {};
    const segments = parts.map(({ text, value }, index) => {
      if (value === null) return text;
      values[`p${index}`] = value;
      return text.replace("name", `p${index}`);
    });
    if (tail !== null) {
      values.rest = tail;
      segments.push("@rest:any");
    }
    return { pattern: `/${segments.join("/")}`, values };
  });

describe("from pattern to URL and back", () => {
  test("the URL of a route matches that route, with the values it was built from", () => {
    fc.assert(
      fc.property(patternWithValues, ({ pattern, values }) => {
        const router = routerFor(pattern);
        const path = router.to(pattern, values);
        const match = router.match("GET", path, null);
        expect([match?.route.name, { ...match?.params }]).toEqual([pattern, values]);
      }),
      { numRuns: 500 },
    );
  });

  test("the URL still matches after being parsed by URL, and with a trailing slash", () => {
    fc.assert(
      fc.property(patternWithValues, ({ pattern, values }) => {
        const router = routerFor(pattern);
        const { pathname } = new URL(router.to(pattern, values), "http://localhost");
        for (const path of [pathname, pathname === "/" ? pathname : `${pathname}/`]) {
          expect({ ...router.match("GET", path, null)?.params }).toEqual(values);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("a URL is built from any text, or the text is refused as an invalid parameter", () => {
    const patterns = VALUES.map(([compiler]) => `/x${compiler.replace(":", "-")}/@v${compiler}`);
    const router = routerFor(...patterns, "/any/@v:any");
    fc.assert(
      fc.property(fc.constantFrom(...patterns, "/any/@v:any"), anyText(), (name, v) => {
        let path: string;
        try {
          path = router.to(name, { v });
        } catch (error) {
          expect(error).toBeInstanceOf(AshlarError);
          expect(["E_INVALID_ROUTE_PARAMETER", "E_INVALID_VALUE"]).toContain((error as AshlarError).code);
          return;
        }
        const match = router.match("GET", path, null);
        expect([match?.route.name, match?.params.v]).toEqual([name, v]);
      }),
      { numRuns: 500 },
    );
  });
});

const PATTERNS = [
  "/",
  "/login",
  "/orders",
  "/orders/create",
  "/orders/@id:int",
  "/orders/@slug:slug",
  "/orders/@key:own",
  "/orders/@id/items/?item:int",
  "/@a/@b:uuid",
  "/v/@v:signed",
  "/files/@path:any",
  "/o/?x:string/?y:int/?z:any",
];

const hostileSegment = fc.oneof(
  fc.constantFrom(
    "login",
    "LOGIN",
    "orders",
    "files",
    "v",
    "o",
    "7",
    "a-b",
    "..",
    ".",
    "",
    "%2e%2e",
    "%6c",
    "%",
    "%zz",
    "%00",
    "%2F",
    "%C3",
    "__proto__",
    "constructor",
    "**",
    ":id",
    "(.*)",
  ),
  anyText({ maxLength: 8 }),
  fc.string({ unit: "grapheme", maxLength: 8 }).map(encodeURIComponent),
);
const hostilePath = fc.oneof(
  fc.array(hostileSegment, { maxLength: 6 }).map((segments) => `/${segments.join("/")}`),
  anyText(),
  fc.webPath(),
);

describe("any path", () => {
  const router = routerFor(...PATTERNS);

  test("S42 is matched, not matched, or refused with 400, and nothing else is ever thrown", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("GET", "HEAD", "POST", "x"),
        hostilePath,
        fc.option(fc.string()),
        (method, path, host) => {
          try {
            router.match(method, path, host);
            router.allowedMethods(path, host);
          } catch (error) {
            expect(error).toBeInstanceOf(AshlarError);
            expect((error as AshlarError).status).toBe(400);
          }
        },
      ),
      { numRuns: 3000 },
    );
  });

  test("S43 has exactly the parameters of the pattern, each text or null, in an object without a prototype", () => {
    fc.assert(
      fc.property(hostilePath, (path) => {
        const match = attempt(() => router.match("GET", path, null));
        if (match === null) return;
        const names = [...match.route.pattern.matchAll(/[@?](\w+)/g)].map(([, name]) => name);
        expect(Object.keys(match.params).sort()).toEqual(names.sort());
        expect(Object.getPrototypeOf(match.params)).toBeNull();
        for (const value of Object.values(match.params)) {
          expect(value === null || (typeof value === "string" && value !== "" && !value.includes("\0"))).toBe(true);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("S30 with a needless escape reaches the route of the unescaped path, or none", () => {
    const escapeSome = (path: string, positions: readonly number[]) =>
      [...path]
        .map((character, index) =>
          /[\w.~-]/.test(character) && positions.includes(index)
            ? `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`
            : character,
        )
        .join("");
    const path = fc
      .array(
        fc.oneof(fc.constantFrom("login", "orders", "create", "7", "files", "items", "a-b"), slug, digits, letters),
        {
          maxLength: 4,
        },
      )
      .map((segments) => `/${segments.join("/")}`);
    fc.assert(
      fc.property(path, fc.array(fc.nat(20)), (plain, positions) => {
        const escaped = router.match("GET", escapeSome(plain, positions), null);
        const expected = router.match("GET", plain, null);
        if (escaped !== null) expect([escaped.route, escaped.params]).toEqual([expected?.route, expected?.params]);
      }),
      { numRuns: 2000 },
    );
  });

  test("S30 with an empty segment or a dot segment reaches no route", () => {
    fc.assert(
      fc.property(
        hostilePath,
        fc.constantFrom("//", "/./", "/../", "/%2e/", "/.%2E/"),
        hostilePath,
        (before, odd, after) => {
          const path = before + odd + after.replace(/^\/+/, "x");
          expect(attempt(() => router.match("GET", path, null))).toBeNull();
        },
      ),
      { numRuns: 1000 },
    );
  });

  test("finds what rou3 finds if the patterns have only plain text and parameters", () => {
    const patterns = ["/", "/a", "/a/@x", "/a/@x/b", "/@x/b", "/@x/@y/@z", "/a/b/c/@x:any"];
    const ours = routerFor(...patterns);
    const theirs = createRouter<string>();
    for (const pattern of patterns) {
      const path = pattern.replace(/@(\w):any/, "**:$1").replaceAll(/@(\w)/g, ":$1");
      addRoute(theirs, "GET", path, pattern);
    }
    const path = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 6 }).map((parts) => `/${parts.join("/")}`);
    fc.assert(
      fc.property(path, (text) => {
        const expected = findRoute(theirs, "GET", text);
        const match = ours.match("GET", text, null);
        expect([match?.route.name, { ...match?.params }]).toEqual([expected?.data, { ...expected?.params }]);
      }),
      { numRuns: 500 },
    );
  });
});

describe("any pattern", () => {
  test("is a route or a reported problem, and nothing else is ever thrown", () => {
    const part = fc.oneof(
      fc.constantFrom(
        "@id",
        "?id",
        "@id:int",
        "?b:any",
        "@",
        "?",
        ":x",
        "*",
        "**",
        "(a",
        "a)",
        "{b}",
        "{c",
        "\\",
        "a:b",
        "..",
        "%zz",
      ),
      anyText({ maxLength: 5 }),
    );
    const pattern = fc.array(part, { maxLength: 5 }).map((parts) => parts.join("/"));
    fc.assert(
      fc.property(pattern, (text) => {
        try {
          const router = routerFor(text);
          expect(router.routes).toHaveLength(1);
        } catch (error) {
          expect(error).toBeInstanceOf(AshlarError);
          expect((error as AshlarError).code).toBe("E_INVALID_ROUTE");
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("of literal text matches that text and nothing else", () => {
    fc.assert(
      fc.property(
        fc.array(literal, { minLength: 1, maxLength: 3 }),
        fc.array(literal, { minLength: 1, maxLength: 3 }),
        (one, other) => {
          const router = routerFor(`/${one.join("/")}`);
          const pathOf = (segments: readonly string[]) => `/${segments.map(encodeURIComponent).join("/")}`;
          const direct = new URL(`http://host/${one.join("/")}/`).pathname;
          expect(router.match("GET", direct, null)).not.toBeNull();
          const same = one.join("/") === other.join("/");
          expect(router.match("GET", pathOf(other), null) !== null && !same).toBe(false);
        },
      ),
      { numRuns: 500 },
    );
  });
});

function attempt<T>(run: () => T | null): T | null {
  try {
    return run();
  } catch (error) {
    if (error instanceof AshlarError && error.code === "E_BAD_REQUEST") return null;
    throw error;
  }
}
