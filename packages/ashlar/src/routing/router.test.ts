import { describe, expect, test } from "vitest";
import { generateSecret, Signer } from "../security/index.ts";
import { AshlarError } from "../support/index.ts";
import { Route } from "./definitions/route.ts";
import type { RouteEntry, RouteSource } from "./definitions/route-collection.ts";
import { ownCompilers } from "./patterns/own-compilers.ts";
import { Router, type RouterOptions } from "./router.ts";

const handler = () => "answer";
const secret = generateSecret();
const signer = new Signer(secret, "signed-url");

function sourceOf(entries: readonly RouteEntry[], changes: Partial<RouteSource> = {}): RouteSource {
  return { entries, stack: null, prefix: "", respondsWithJson: false, file: "routes/web.ts", ...changes };
}

function routerOf(entries: readonly RouteEntry[], options: RouterOptions = {}): Router {
  return new Router([sourceOf(entries)], options);
}

/** A router with a GET route for each pattern, which is also the route's name. */
function routerFor(...patterns: string[]): Router {
  return routerOf(patterns.map((pattern) => Route.get(pattern, handler).name(pattern)));
}

/** What a GET request for a path reaches: the route's name and the parameters, or `null`. */
function reach(router: Router, path: string, host: string | null = null) {
  const match = router.match("GET", path, host);
  return match === null ? null : [match.route.name, { ...match.params }];
}

describe("paths", () => {
  test("a single trailing slash is ignored, in the path and in the pattern", () => {
    const router = routerFor("/home", "/list/", "/");
    expect(reach(router, "/home/")).toEqual(["/home", {}]);
    expect(router.match("GET", "/home/", null)?.route).toBe(router.match("GET", "/home", null)?.route);
    expect(reach(router, "/list")).toEqual(["/list/", {}]);
    expect(reach(router, "/")).toEqual(["/", {}]);
    expect(reach(router, "/home//")).toBeNull();
  });

  test("S30 a path with empty segments, different case or needless escapes reaches no route", () => {
    const router = routerFor("/login", "/");
    for (const path of ["//login", "/LOGIN", "/%6cogin", "/%6Cogin", "//", "login", "", "*", "/login//", "/./login"]) {
      expect([path, reach(router, path)]).toEqual([path, null]);
    }
  });

  test("S30 a needless escape does not bypass a route to reach a more general one", () => {
    const router = routerFor("/login", "/@page", "/orders/@id:int", "/orders/@text", "/files/@rest:any");
    expect(reach(router, "/login")).toEqual(["/login", {}]);
    expect(reach(router, "/%6cogin")).toBeNull();
    expect(reach(router, "/%61bout")).toEqual(["/@page", { page: "about" }]);
    expect(reach(router, "/orders/7")).toEqual(["/orders/@id:int", { id: "7" }]);
    expect(reach(router, "/orders/%37")).toBeNull();
    expect(reach(router, "/orders/%7Ejoe")).toEqual(["/orders/@text", { text: "~joe" }]);
    expect(reach(router, "/%66iles/x")).toBeNull();
  });

  test("S30 dot segments, which clients resolve, match nothing, escaped or not", () => {
    const router = routerFor("/@a", "/a/@b", "/files/@rest:any");
    for (const path of [
      "/..",
      "/.",
      "/%2e%2E",
      "/a/..",
      "/a/%2e",
      "/files/a/../b",
      "/files/%2e%2e/b",
      "/files/..%2fb",
    ]) {
      expect([path, reach(router, path)]).toEqual([path, null]);
    }
    expect(reach(router, "/.well-known")).toEqual(["/@a", { a: ".well-known" }]);
    expect(reach(router, "/a/...")).toEqual(["/a/@b", { b: "..." }]);
  });

  test("literal text is literal, including dots", () => {
    const odd = "/(x)/c:d/**/f+g/h!/x@y/{l}?/:name/$1";
    const router = routerFor("/a.b", odd.replace("?", ""), "/v1$");
    expect(reach(router, "/a.b")).toEqual(["/a.b", {}]);
    expect(reach(router, "/axb")).toBeNull();
    expect(reach(router, "/(x)/c:d/**/f+g/h!/x@y/%7Bl%7D/:name/$1")?.[1]).toEqual({});
    expect(reach(router, "/x/c:d/**/f+g/h!/x@y/%7Bl%7D/:name/$1")).toBeNull();
    expect(reach(router, "/(x)/c:d/y/f+g/h!/x@y/%7Bl%7D/:name/$1")).toBeNull();
    expect(reach(router, "/(x)/c:d/**/f+g/h!/x@y/l/:name/$1")).toBeNull();
    expect(reach(router, "/(x)/c:d/**/f+g/h!/x@y/%7Bl%7D/name/$1")).toBeNull();
    expect(reach(router, "/v1$")).toEqual(["/v1$", {}]);
  });

  test("characters that only some clients escape match either way", () => {
    const router = routerFor("/[a]/b|c/^d/{e}", "/@v");
    expect(reach(router, "/[a]/b|c/^d/{e}")).toEqual(["/[a]/b|c/^d/{e}", {}]);
    expect(reach(router, "/%5Ba%5d/b%7Cc/%5ed/%7Be}")).toEqual(["/[a]/b|c/^d/{e}", {}]);
    expect(reach(router, "/[x]")).toEqual(["/@v", { v: "[x]" }]);
    expect(reach(router, "/é")).toEqual(["/@v", { v: "é" }]);
  });

  test("non-ASCII literal text matches as clients send it, with escapes in either case", () => {
    const router = routerFor("/café/naïve", "/a b", "/100%25");
    expect(reach(router, "/caf%C3%A9/na%C3%AFve")).toEqual(["/café/naïve", {}]);
    expect(reach(router, "/caf%c3%a9/na%c3%afve")).toEqual(["/café/naïve", {}]);
    expect(reach(router, "/a%20b")).toEqual(["/a b", {}]);
    expect(reach(router, "/100%25")).toEqual(["/100%25", {}]);
    expect(reach(routerFor("/caf%c3%a9"), "/caf%C3%A9")).toEqual(["/caf%c3%a9", {}]);
  });

  test("a broken escape, an escape that is not UTF-8, and NUL are a 400", () => {
    const router = routerFor("/@a", "/login");
    for (const path of [
      "/%",
      "/%zz",
      "/%4",
      "/%FF",
      "/%C3",
      "/login%C3%28",
      "/%00",
      "/nowhere/at/all/%E0%A4%A",
      "/\ud800",
    ]) {
      expect(() => router.match("GET", path, null)).toThrow(
        expect.objectContaining({ code: "E_BAD_REQUEST", status: 400 }),
      );
      expect(() => router.allowedMethods(path, null)).toThrow(AshlarError);
    }
  });
});

describe("parameters", () => {
  test("a parameter is a whole non-empty segment, decoded once", () => {
    const router = routerFor("/orders/@id");
    expect(reach(router, "/orders/a%20b%3Fc%2520")).toEqual(["/orders/@id", { id: "a b?c%20" }]);
    expect(reach(router, "/orders/a+b")).toEqual(["/orders/@id", { id: "a+b" }]);
    expect(reach(router, "/orders/%F0%9F%98%80")).toEqual(["/orders/@id", { id: "😀" }]);
    expect(reach(router, "/orders")).toBeNull();
    expect(reach(router, "/orders/")).toBeNull();
    expect(reach(router, "/orders/1/2")).toBeNull();
  });

  test.each([
    ["a slash", ["%2F", "%2f"]],
    ["a backslash", ["%5C", "%5c"]],
    ["a control character", ["%01", "%09", "%0a", "%0D%0A", "%1f", "%1B", "%7F", "%7f", "%C2%80", "%c2%85", "%C2%9f"]],
  ])("S165 no parameter has %s in its value, whatever its compiler is", async (_kind, escapes) => {
    const compilers = await ownCompilers({ all: /[\s\S]+/ });
    const patterns = ["/plain/@id", "/pair/@a/@b", "/rest/@path:any", "/own/@id:all", "/first/@id", "/first/@rest:any"];
    const entries = patterns.map((pattern) => Route.get(pattern, handler).name(pattern));
    const router = routerOf(entries, { compilers });
    for (const escaped of escapes) {
      for (const value of [escaped, `a${escaped}b`, `..${escaped}`, `%C3%A9${escaped}`]) {
        for (const path of ["plain", "rest", "own", "first", "rest/a", "pair/a"]) {
          expect([path, reach(router, `/${path}/${value}`)]).toEqual([path, null]);
        }
      }
    }
    expect(reach(router, "/own/%252F%C2%A0")).toEqual(["/own/@id:all", { id: "%2F\u00a0" }]);
  });

  test("S43 parameters are kept in an object without a prototype, and cannot be named __proto__, constructor or prototype", () => {
    const match = routerFor("/@a/@b").match("GET", "/__proto__/constructor", null)!;
    expect(Object.getPrototypeOf(match.params)).toBeNull();
    expect({ ...match.params }).toEqual({ a: "__proto__", b: "constructor" });
    for (const name of ["__proto__", "constructor", "prototype"]) {
      expect(() => routerFor(`/@${name}`)).toThrow(`a parameter cannot be named "${name}"`);
    }
    expect(routerFor("/x").match("GET", "/__proto__", null)).toBeNull();
    expect(routerFor("/x").match("constructor", "/x", null)).toBeNull();
  });

  test("callers cannot change the lists of a compiled route", () => {
    const router = routerOf([Route.post("/a", handler).middleware("auth")]);
    for (const list of [router.routes, router.routes[0]!.methods, router.routes[0]!.middleware]) {
      expect(() => (list as unknown[]).push("PUT")).toThrow(TypeError);
    }
    expect(router.allowedMethods("/a", null)).toEqual(["POST"]);
  });

  test("a route without parameters returns the same frozen match each time", () => {
    const router = routerFor("/a", "/b");
    const first = router.match("GET", "/a", null)!;
    expect(router.match("GET", "/a/", null)).toBe(first);
    expect(Object.isFrozen(first.params)).toBe(true);
    expect(Object.getPrototypeOf(first.params)).toBeNull();
  });

  test("int and integer accept digits", () => {
    const router = routerFor("/orders/@id:int", "/years/@year:integer");
    expect(reach(router, "/orders/007")).toEqual(["/orders/@id:int", { id: "007" }]);
    expect(reach(router, "/years/1999")).toEqual(["/years/@year:integer", { year: "1999" }]);
    for (const path of ["/orders/a", "/orders/1a", "/orders/-1", "/orders/1.5", "/orders/%201", "/orders/١"]) {
      expect([path, reach(router, path)]).toEqual([path, null]);
    }
  });

  test("string accepts letters", () => {
    const router = routerFor("/@word:string");
    expect(reach(router, "/Hello")).toEqual(["/@word:string", { word: "Hello" }]);
    for (const path of ["/hello1", "/a-b", "/%C3%A9"]) expect([path, reach(router, path)]).toEqual([path, null]);
  });

  test("slug accepts lower-case letters and digits with single dashes between them", () => {
    const router = routerFor("/@slug:slug");
    expect(reach(router, "/a-title-2")).toEqual(["/@slug:slug", { slug: "a-title-2" }]);
    for (const path of ["/-a", "/a-", "/a--b", "/A", "/a_b"]) expect([path, reach(router, path)]).toEqual([path, null]);
  });

  test("uuid accepts a UUID in either case", () => {
    const router = routerFor("/@slug:uuid");
    const id = "123e4567-e89b-12d3-A456-426614174000";
    expect(reach(router, `/${id}`)).toEqual(["/@slug:uuid", { slug: id }]);
    for (const path of ["/hello", `/${id}0`, `/${id.replaceAll("-", "")}`, `/${id.replace("1", "g")}`]) {
      expect([path, reach(router, path)]).toEqual([path, null]);
    }
  });

  test("any captures the rest of the path, at least one segment", () => {
    const router = routerFor("/files/@path:any");
    expect(reach(router, "/files/a/b/c.txt")).toEqual(["/files/@path:any", { path: "a/b/c.txt" }]);
    expect(reach(router, "/files/a/")).toEqual(["/files/@path:any", { path: "a" }]);
    expect(reach(router, "/files/a%20b/%C3%A9")).toEqual(["/files/@path:any", { path: "a b/é" }]);
    for (const path of ["/files", "/files/", "/files//a", "/files/a//b", "/files/a%2F%2Fb", "/files/a/..%5Cb"]) {
      expect([path, reach(router, path)]).toEqual([path, null]);
    }
  });

  test("an optional parameter that is absent is null", () => {
    const router = routerFor("/home/?id");
    expect(reach(router, "/home")).toEqual(["/home/?id", { id: null }]);
    expect(reach(router, "/home/")).toEqual(["/home/?id", { id: null }]);
    expect(reach(router, "/home/7")).toEqual(["/home/?id", { id: "7" }]);
    expect(reach(router, "/home1")).toBeNull();
    expect(reach(router, "/home/7/8")).toBeNull();
    expect(reach(routerFor("/?id"), "/")).toEqual(["/?id", { id: null }]);
  });

  test("optional parameters can be omitted only from the end", () => {
    const router = routerFor("/archive/@kind/?year:int/?month:int", "/docs/?page:any");
    const name = "/archive/@kind/?year:int/?month:int";
    expect(reach(router, "/archive/a")).toEqual([name, { kind: "a", year: null, month: null }]);
    expect(reach(router, "/archive/a/2026")).toEqual([name, { kind: "a", year: "2026", month: null }]);
    expect(reach(router, "/archive/a/2026/11")).toEqual([name, { kind: "a", year: "2026", month: "11" }]);
    expect(reach(router, "/archive/a/b")).toBeNull();
    expect(reach(router, "/docs")).toEqual(["/docs/?page:any", { page: null }]);
    expect(reach(router, "/docs/a/b")).toEqual(["/docs/?page:any", { page: "a/b" }]);
  });

  test("an application's own compiler must match the whole decoded value", async () => {
    const compilers = await ownCompilers({ year: /\d{4}/, name: /[\p{L} ]+/u, either: /a|bc/, upper: /[a-f]+/i });
    const router = routerOf(
      ["/y/@v:year", "/n/@v:name", "/e/@v:either", "/u/@v:upper"].map((path) => Route.get(path, handler).name(path)),
      { compilers },
    );
    expect(reach(router, "/y/2026")).toEqual(["/y/@v:year", { v: "2026" }]);
    expect(reach(router, "/n/Zo%C3%AB%20K")).toEqual(["/n/@v:name", { v: "Zoë K" }]);
    expect(reach(router, "/e/bc")).toEqual(["/e/@v:either", { v: "bc" }]);
    expect(reach(router, "/u/aF")).toEqual(["/u/@v:upper", { v: "aF" }]);
    for (const path of ["/y/20261", "/y/x2026", "/n/a1", "/e/ac", "/e/abc", "/u/g", `/u/${"a".repeat(257)}`]) {
      expect([path, reach(router, path)]).toEqual([path, null]);
    }
  });

  test("if a compiler refuses the value, the next matching route is used, in the order of definition", async () => {
    const compilers = await ownCompilers({ one: /1.*/, two: /2.*/, three: /3.*/, four: /.*4/ });
    const router = routerOf(
      ["/@v:one", "/@v:two", "/@v:three", "/@v:four", "/@v", "/@v:any"].map((path) =>
        Route.get(path, handler).name(path),
      ),
      { compilers },
    );
    const names = ["/10", "/20", "/30", "/24", "/04", "/50", "/50/60"].map((path) => reach(router, path)?.[0]);
    expect(names).toEqual(["/@v:one", "/@v:two", "/@v:three", "/@v:two", "/@v:four", "/@v", "/@v:any"]);
  });

  test("a signed parameter yields the value that was signed, and nothing else matches", () => {
    const router = routerOf([Route.get("/verify/@token:signed", handler).name("verify")], { signer });
    const path = router.to("verify", { token: "user:7 é" });
    expect(path).not.toContain("user");
    expect(reach(router, path)).toEqual(["verify", { token: "user:7 é" }]);
    const letter = path.at(9) === "A" ? "B" : "A";
    expect(reach(router, `${path.slice(0, 9)}${letter}${path.slice(10)}`)).toBeNull();
    expect(reach(router, "/verify/7")).toBeNull();
    expect(reach(router, `/verify/${signer.sign("user:7 é")}`)).toBeNull();
    expect(reach(router, `${path}/x`)).toBeNull();
  });

  test("S8 a parameter signed with another key is refused", () => {
    const other = new Signer(secret, "email-verification");
    const make = (key: Signer) => routerOf([Route.get("/@v:signed", handler).name("v")], { signer: key });
    expect(reach(make(signer), make(other).to("v", { v: "7" }))).toBeNull();
    expect(reach(make(signer), make(signer).to("v", { v: "7" }))).toEqual(["v", { v: "7" }]);
  });
});

describe("which route wins", () => {
  test("text beats a parameter with a compiler, which beats one without, which beats a rest parameter, whatever the order", () => {
    const patterns = ["/a/@v:any", "/a/@v", "/a/@v:int", "/a/7"];
    for (const order of [patterns, patterns.toReversed()]) {
      const router = routerFor(...order);
      const names = ["/a/7", "/a/8", "/a/x", "/a/x/y"].map((path) => reach(router, path)?.[0]);
      expect(names).toEqual(["/a/7", "/a/@v:int", "/a/@v", "/a/@v:any"]);
    }
  });

  test("the first one defined, among equally specific routes", () => {
    expect(reach(routerFor("/@a/x", "/y/@b"), "/y/x")?.[0]).toBe("/y/@b");
    expect(reach(routerFor("/@a:int/@b", "/@a/@b:int"), "/1/2")?.[0]).toBe("/@a:int/@b");
    expect(reach(routerFor("/@a/@b:int", "/@a:int/@b"), "/1/2")?.[0]).toBe("/@a/@b:int");
  });

  test("a route with another method does not hide it", () => {
    const router = routerOf([
      Route.post("/orders/new", handler).name("post"),
      Route.get("/orders/@id", handler).name("get"),
    ]);
    expect(reach(router, "/orders/new")).toEqual(["get", { id: "new" }]);
    expect(router.match("POST", "/orders/new", null)?.route.name).toBe("post");
    expect(router.match("POST", "/orders/7", null)).toBeNull();
  });
});

describe("methods", () => {
  test("HEAD finds the GET route", () => {
    const router = routerFor("/a", "/b/@id");
    expect(router.match("HEAD", "/a", null)).toBe(router.match("GET", "/a", null));
    expect(router.match("HEAD", "/b/1", null)?.route).toBe(router.match("GET", "/b/1", null)?.route);
  });

  test("a path's allowed methods are those of its routes, and HEAD along with GET", () => {
    const router = routerOf([
      Route.get("/a", handler),
      Route.match(["PUT", "PATCH"], "/a", handler),
      Route.post("/logout", handler),
      Route.delete("/a/@id:int", handler),
      Route.get("/a/@id", handler),
      Route.any("/hook", handler),
      Route.options("/cors", handler),
    ]);
    expect(router.allowedMethods("/a/", null)).toEqual(["GET", "HEAD", "PUT", "PATCH"]);
    expect(router.allowedMethods("/logout", null)).toEqual(["POST"]);
    expect(router.allowedMethods("/a/1", null)).toEqual(["GET", "HEAD", "DELETE"]);
    expect(router.allowedMethods("/a/x", null)).toEqual(["GET", "HEAD"]);
    expect(router.allowedMethods("/hook", null)).toEqual(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
    expect(router.allowedMethods("/cors", null)).toEqual(["OPTIONS"]);
    expect(router.allowedMethods("/nowhere", null)).toEqual([]);
    expect(router.match("GET", "/logout", null)).toBeNull();
  });

  test("methods without a route, in lower case or unknown, find nothing", () => {
    const router = routerOf([Route.any("/a", handler)]);
    for (const method of ["get", "TRACE", "CONNECT", "PROPFIND", "", "toString"]) {
      expect(router.match(method, "/a", null)).toBeNull();
    }
  });
});

describe("hosts", () => {
  const router = routerOf(
    [
      Route.get("/", handler).name("main"),
      Route.get("/", handler).name("api").domain("api"),
      Route.get("/users/@id", handler).name("api.user").domain("api"),
      Route.get("/", handler).name("account").domain("@account"),
      Route.get("/p/?page", handler).name("page").domain("@account.example.com"),
      Route.get("/", handler).name("deep").domain("@region.@account.example.com"),
      Route.get("/only", handler).name("only"),
    ],
    { appUrl: "http://localhost:3000" },
  );

  test("a subdomain is matched whatever the registrable domain and the port", () => {
    expect(reach(router, "/", "api.example.com:8080")).toEqual(["api", {}]);
    expect(reach(router, "/", "API.shop.co.uk")).toEqual(["api", {}]);
    expect(reach(router, "/users/7", "api.localhost:3000")).toEqual(["api.user", { id: "7" }]);
    expect(reach(router, "/users/7", "www.example.com")).toBeNull();
  });

  test("the captures of a host pattern are parameters, alongside those of the path", () => {
    expect(reach(router, "/", "acme.example.com")).toEqual(["account", { account: "acme" }]);
    expect(reach(router, "/p", "acme.example.com")).toEqual(["page", { account: "acme", page: null }]);
    expect(reach(router, "/p/2", "acme.example.com")).toEqual(["page", { account: "acme", page: "2" }]);
    expect(reach(router, "/p/2", "acme.example.org")).toBeNull();
    expect(reach(router, "/", "eu.acme.example.com")).toEqual(["deep", { region: "eu", account: "acme" }]);
    expect(Object.getPrototypeOf(router.match("GET", "/", "acme.example.com")!.params)).toBeNull();
  });

  test("a route without a host matches on every host if no route for that host does", () => {
    expect(reach(router, "/", "example.com")).toEqual(["main", {}]);
    expect(reach(router, "/only", "acme.example.com")).toEqual(["only", {}]);
    for (const host of [null, "", "127.0.0.1:3000", "[::1]", "not a host", "a..b"]) {
      expect(reach(router, "/", host)).toEqual(["main", {}]);
    }
  });

  test("a match on one host does not affect the next", () => {
    expect(reach(router, "/", "acme.example.com")).toEqual(["account", { account: "acme" }]);
    expect(reach(router, "/", "other.example.com")).toEqual(["account", { account: "other" }]);
    expect(reach(router, "/", "example.com")).toEqual(["main", {}]);
  });

  test("a path's allowed methods are those on the requested host", () => {
    const some = routerOf([Route.get("/a", handler), Route.post("/a", handler).domain("api")]);
    expect(some.allowedMethods("/a", "api.example.com")).toEqual(["GET", "HEAD", "POST"]);
    expect(some.allowedMethods("/a", "example.com")).toEqual(["GET", "HEAD"]);
  });
});

describe("a compiled route", () => {
  test("it includes everything that its groups and its file add", () => {
    const route = Route.get("orders/@id:int/", handler).name("show").middleware("guard:jwt", "verified").domain("api");
    const router = new Router([
      sourceOf([Route.group({ prefix: "shop", name: "shop.", middleware: ["auth"] }, [route])], {
        stack: "api",
        prefix: "/api",
        respondsWithJson: true,
      }),
    ]);
    expect(router.routes).toEqual([
      expect.objectContaining({
        name: "shop.show",
        pattern: "/api/shop/orders/@id:int",
        methods: ["GET"],
        middleware: ["api", "auth", "guard:jwt", "verified"],
        respondsWithJson: true,
        handler,
        location: expect.stringMatching(/^packages\/ashlar\/src\/routing\/router\.test\.ts:\d+$/),
        domain: "api",
      }),
    ]);
    expect(() => router.routes[0]!.run(null as never)).toThrow("has not been built");
  });

  test("middleware is removed by its full entry or by its name, including the stack", () => {
    const of = (...names: string[]) =>
      new Router([
        sourceOf(
          [
            Route.group({ middleware: ["guard:jwt", "guard:web", "auth"] }, [
              Route.get("/", handler).withoutMiddleware(...names),
            ]),
          ],
          {
            stack: "web",
          },
        ),
      ]).routes[0]!.middleware;
    expect(of()).toEqual(["web", "guard:jwt", "guard:web", "auth"]);
    expect(of("guard:jwt")).toEqual(["web", "guard:web", "auth"]);
    expect(of("guard")).toEqual(["web", "auth"]);
    expect(of("web", "auth")).toEqual(["guard:jwt", "guard:web"]);
    expect(of("gua", "guard:", "unknown")).toEqual(["web", "guard:jwt", "guard:web", "auth"]);
  });

  test("middleware listed twice runs once, at its first position", () => {
    const group = Route.group({ middleware: ["auth", "a:1"] }, [
      Route.get("/", handler).middleware("b", "auth", "a:2"),
    ]);
    expect(routerOf([group]).routes[0]!.middleware).toEqual(["auth", "a:1", "b", "a:2"]);
  });

  test("respondsWithJson of a route overrides that of its file", () => {
    const entries = [Route.get("/a", handler), Route.get("/b", handler).respondsWithJson()];
    expect(routerOf(entries).routes.map(({ respondsWithJson }) => respondsWithJson)).toEqual([false, true]);
  });

  test("one list of routes can be used in two routers without sharing compiled routes", () => {
    const entries = [
      Route.group({ prefix: "/g" }, [Route.get("/@id:int", handler).name("g")]),
      Route.get("/a", handler),
    ];
    const first = new Router([sourceOf(entries, { prefix: "/one", stack: "web" })]);
    const second = new Router([sourceOf(entries, { prefix: "/two" })]);
    first.routes[0]!.run = () => "first";
    second.routes[0]!.run = () => "second";
    expect(first.match("GET", "/one/g/1", null)!.route.run(null as never)).toBe("first");
    expect(second.match("GET", "/two/g/1", null)!.route.run(null as never)).toBe("second");
    expect([first.to("g", { id: 1 }), second.to("g", { id: 1 })]).toEqual(["/one/g/1", "/two/g/1"]);
  });

  test("a prefix with the path / is the prefix itself", () => {
    const router = new Router([sourceOf([Route.get("/", handler).name("root")], { prefix: "/api/" })]);
    expect(reach(router, "/api")).toEqual(["root", {}]);
    expect(reach(router, "/")).toBeNull();
    expect(router.to("root")).toBe("/api");
  });
});
