import { describe, expect, test } from "vitest";
import { generateSecret, Signer } from "../../security/index.ts";
import { Route } from "../definitions/route.ts";
import type { RouteEntry } from "../definitions/route-collection.ts";
import { ownCompilers } from "../patterns/own-compilers.ts";
import { Router, type RouterOptions } from "../router.ts";

const handler = () => "answer";

function routerOf(entries: readonly RouteEntry[], options: RouterOptions = {}): Router {
  return new Router([{ entries, stack: null, prefix: "", respondsWithJson: false, file: "routes/web.ts" }], options);
}

const router = routerOf(
  [
    Route.get("/", handler).name("root"),
    Route.get("/home/@id", handler).name("home"),
    Route.get("/orders/@id:int/items/@item:slug", handler).name("item"),
    Route.get("/archive/?year:int/?month:int", handler).name("archive"),
    Route.get("/files/@path:any", handler).name("files"),
    Route.get("/docs/?page:any", handler).name("docs"),
    Route.get("/u/@id:uuid/@word:string", handler).name("uuid"),
    Route.get("/y/@year:year", handler).name("year"),
    Route.get("/caf\u00e9/a b/[x]", handler).name("literal"),
  ],
  { compilers: await ownCompilers({ year: /\d{4}/ }) },
);

const missing = (name: string) =>
  expect.objectContaining({ code: "E_MISSING_ROUTE_PARAMETER", message: expect.stringContaining(`"${name}"`) });
const invalid = (text: string) =>
  expect.objectContaining({ code: "E_INVALID_ROUTE_PARAMETER", message: expect.stringContaining(text) });

describe("the path of a named route", () => {
  test("takes parameters by name, in any order, and the query separately", () => {
    expect(router.to("home", { id: 1 }, { preview: true })).toBe("/home/1?preview=true");
    expect(router.to("item", { item: "a-b", id: "7" })).toBe("/orders/7/items/a-b");
    expect(router.to("item", { id: "7", item: "a-b" })).toBe("/orders/7/items/a-b");
    expect(router.to("root")).toBe("/");
    expect(router.to("root", {}, { page: 2 })).toBe("/?page=2");
  });

  test("values are encoded so that they decode unchanged", () => {
    expect(router.to("home", { id: "a b'c?d#e%f&g+h" })).toBe("/home/a%20b'c%3Fd%23e%25f%26g%2Bh");
    expect(router.to("home", { id: "é😀" })).toBe("/home/%C3%A9%F0%9F%98%80");
    expect(router.to("literal")).toBe("/caf%C3%A9/a%20b/%5Bx%5D");
    expect(router.match("GET", router.to("literal"), null)?.route.name).toBe("literal");
  });

  test.each(["a/b", "/", "a\\b", "a\nb", "\r", "\0", "\x7f", "a\u0085", "..", "."])(
    "S165 no URL is built for a value that can't occur in a segment: %j",
    (value) => {
      const error = invalid("is not what a segment of a path can carry");
      expect(() => router.to("home", { id: value })).toThrow(error);
      if (!value.includes("/")) expect(() => router.to("files", { path: `a/${value}/b` })).toThrow(invalid(`":any"`));
    },
  );

  test("slashes in a rest parameter stay slashes", () => {
    expect(router.to("files", { path: "a b/c.txt" })).toBe("/files/a%20b/c.txt");
    expect(router.to("docs", { page: "a/b" })).toBe("/docs/a/b");
    expect(router.to("docs")).toBe("/docs");
  });

  test("optional parameters that are missing, undefined or null are left out", () => {
    expect(router.to("archive")).toBe("/archive");
    expect(router.to("archive", { year: null, month: undefined })).toBe("/archive");
    expect(router.to("archive", { year: 2026 })).toBe("/archive/2026");
    expect(router.to("archive", { month: 11, year: 2026 })).toBe("/archive/2026/11");
    expect(() => router.to("archive", { month: 11 })).toThrow(missing("year"));
  });

  test("the query is encoded, without values that are null or undefined", () => {
    const query = { a: "x y&z=1", "b[]": "é", c: null, d: undefined, e: false, f: 0, g: "" };
    expect(router.to("root", {}, query)).toBe("/?a=x%20y%26z%3D1&b%5B%5D=%C3%A9&e=false&f=0&g=");
    expect(router.to("root", {}, { a: null })).toBe("/");
    expect(() => router.to("root", {}, { a: "\ud800" })).toThrow(invalid("well-formed"));
  });

  test("an unknown name causes an error that suggests similar names", () => {
    expect(() => router.to("hmoe")).toThrow(
      expect.objectContaining({
        code: "E_UNKNOWN_ROUTE",
        message: 'No route is named "hmoe". Did you mean "home"?',
      }),
    );
    expect(() => routerOf([]).to("home")).toThrow('No route is named "home".');
    expect(() => router.to("toString")).toThrow(expect.objectContaining({ code: "E_UNKNOWN_ROUTE" }));
  });

  test("a missing parameter is an error", () => {
    expect(() => router.to("home")).toThrow(missing("id"));
    expect(() => router.to("home", { id: null })).toThrow(missing("id"));
    expect(() => router.to("item", { id: 7, item: undefined })).toThrow(missing("item"));
    expect(() => router.to("item", { id: 7 })).toThrow(
      'The route "item" (/orders/@id:int/items/@item:slug) needs a value for the parameter "item".',
    );
  });

  test("an unknown parameter is an error", () => {
    expect(() => router.to("home", { id: 1, preview: true as never })).toThrow(invalid('has no parameter "preview"'));
    expect(() => router.to("home", { ID: 1 })).toThrow(invalid('Did you mean "id"?'));
  });

  test("S43 values are read from the object itself, never from its prototype", () => {
    expect(() => router.to("home", Object.create({ id: 7 }))).toThrow(missing("id"));
    const named = routerOf([Route.get("/@valueOf", handler).name("a")]);
    expect(() => named.to("a")).toThrow(missing("valueOf"));
  });

  test.each([
    ["item", { id: "x", item: "a" }, 'for the parameter "id" of the route "item"'],
    ["item", { id: -1, item: "a" }, '":int"'],
    ["item", { id: 1.5, item: "a" }, '":int"'],
    ["item", { id: 1e21, item: "a" }, '":int"'],
    ["item", { id: 1, item: "A" }, '":slug"'],
    ["uuid", { id: "x", word: "a" }, '":uuid"'],
    ["uuid", { id: "123e4567-e89b-12d3-a456-426614174000", word: "a1" }, '":string"'],
    ["year", { year: "20267" }, '":year"'],
    ["files", { path: "a/../b" }, '":any"'],
    ["files", { path: "/a" }, '":any"'],
    ["files", { path: "a/" }, '":any"'],
    ["files", { path: "a//b" }, '":any"'],
    ["files", { path: "" }, '":any"'],
    ["home", { id: "" }, "what a segment of a path can carry"],
    ["home", { id: "." }, "what a segment of a path can carry"],
    ["home", { id: ".." }, "what a segment of a path can carry"],
    ["home", { id: "a\0" }, "what a segment of a path can carry"],
    ["home", { id: "\ud800" }, "what a segment of a path can carry"],
    ["home", { id: Number.NaN }, "neither text nor a finite number"],
    ["home", { id: true }, "neither text nor a finite number"],
    ["home", { id: ["a"] }, "neither text nor a finite number"],
  ])("%s with %o is refused", (name, parameters, text) => {
    expect(() => router.to(name, parameters as never)).toThrow(invalid(text));
  });

  test("the message of a refused value does not repeat the value", () => {
    expect(() => router.to("year", { year: "hunter2" })).toThrow(expect.not.stringContaining("hunter2"));
  });

  test("a signed parameter is signed", () => {
    const signer = new Signer(generateSecret(), "signed-url");
    const signing = routerOf([Route.get("/v/@token:signed", handler).name("v")], { signer });
    const path = signing.to("v", { token: "7" });
    expect(path).toMatch(/^\/v\/[\w-]+\.[\w-]+$/);
    expect({ ...signing.match("GET", path, null)!.params }).toEqual({ token: "7" });
    expect(() => signing.to("v", { token: "" })).toThrow(invalid('":signed"'));
  });
});

describe("the URL of a route with a domain", () => {
  const entries = [
    Route.get("/a/@id", handler).name("api").domain("api"),
    Route.get("/a/@id", handler).name("account").domain("@account"),
    Route.get("/", handler).name("whole").domain("@account.shop.example"),
  ];

  test("it is absolute, with the application's scheme and port", () => {
    const made = routerOf(entries, { appUrl: "https://www.shop.co.uk:8443" });
    expect(made.to("api", { id: 1 }, { q: 1 })).toBe("https://api.shop.co.uk:8443/a/1?q=1");
    expect(made.to("account", { account: "acme", id: 1 })).toBe("https://acme.shop.co.uk:8443/a/1");
    expect(made.to("whole", { account: "acme" })).toBe("https://acme.shop.example:8443/");
    expect(routerOf(entries, { appUrl: "http://localhost:3000" }).to("api", { id: 1 })).toBe(
      "http://api.localhost:3000/a/1",
    );
  });

  test("it matches the route it was built from", () => {
    const made = routerOf(entries, { appUrl: "http://localhost:3000" });
    const url = new URL(made.to("account", { account: "acme", id: "x y" }));
    const match = made.match("GET", url.pathname, url.host)!;
    expect([match.route.name, { ...match.params }]).toEqual(["account", { account: "acme", id: "x y" }]);
  });

  test("it needs the application's URL", () => {
    expect(() => routerOf(entries).to("api", { id: 1 })).toThrow(
      expect.objectContaining({ code: "E_INVALID_CONFIGURATION", message: expect.stringContaining("APP_URL") }),
    );
  });

  test("its parameters are required and must be valid in a host", () => {
    const made = routerOf(entries, { appUrl: "http://localhost" });
    expect(() => made.to("account", { id: 1 })).toThrow(missing("account"));
    for (const account of ["a.b", "a/b", "evil.example/", "A", "", "a@b", "a".repeat(64)]) {
      expect(() => made.to("account", { account, id: 1 })).toThrow(invalid("part of a host"));
    }
  });
});
