import { describe, expect, test } from "vitest";
import { AshlarError } from "../support/index.ts";
import { Route } from "./definitions/route.ts";
import type { RouteEntry } from "./definitions/route-collection.ts";
import { ownCompilers } from "./patterns/own-compilers.ts";
import { Router, type RouterOptions } from "./router.ts";

const handler = () => "answer";
const HERE = "packages/ashlar/src/routing/router-problems.test.ts";

class OrdersController {
  readonly field = () => "a field";
  show(): string {
    return "show";
  }
}

function make(entries: readonly RouteEntry[], options: RouterOptions = {}, prefix = ""): Router {
  return new Router([{ entries, stack: "web", prefix, respondsWithJson: false, file: "routes/web.ts" }], options);
}

/** The problems with routes, without their locations. */
function problemsOf(entries: readonly RouteEntry[], options: RouterOptions = {}): string[] {
  try {
    make(entries, options);
    return [];
  } catch (error) {
    expect(error).toMatchObject({ code: "E_INVALID_ROUTE", status: 500 });
    const [, ...lines] = (error as AshlarError).message.split("\n");
    return lines.map((line) => line.replace(/^ {2}\S+ {2}/, "").replaceAll(/\S+\.test\.ts:\d+/g, "HERE"));
  }
}

const get = (path: string) => Route.get(path, handler);

describe("all problems are reported at once, each with its location", () => {
  test("one message lists all problems of all files", () => {
    const web = [get("/a"), get("/b/@id:itn"), get("/a")];
    const api = [Route.get("/c", 7 as never)];
    const error = (() => {
      try {
        return new Router([
          { entries: web, stack: "web", prefix: "", respondsWithJson: false, file: "routes/web.ts" },
          { entries: api, stack: "api", prefix: "/api", respondsWithJson: true, file: "routes/api.ts" },
        ]);
      } catch (thrown) {
        return thrown as AshlarError;
      }
    })();
    expect(error).toBeInstanceOf(AshlarError);
    const lines = (error as AshlarError).message.replaceAll(/:\d+/g, ":N").split("\n");
    expect(lines).toEqual([
      "There are 3 problems in the routes:",
      `  ${HERE}:N  GET /b/@id:itn: unknown compiler "itn". Did you mean "int"?`,
      `  ${HERE}:N  GET /api/c: the handler is a number, not a function.`,
      `  ${HERE}:N  GET /a: is never reached; /a at ${HERE}:N matches all of its paths.`,
    ]);
  });

  test("several problems of one route are all reported", () => {
    expect(
      problemsOf([
        Route.match([], "/@a/@a", null as never)
          .name(" ")
          .middleware("")
          .domain("a b"),
      ]),
    ).toEqual([
      " /@a/@a: it has no method.",
      ' /@a/@a: two parameters are named "a".',
      ' /@a/@a: "a b" is not a host; write api, @account or @account.example.com.',
      " /@a/@a: the handler is null, not a function.",
      " /@a/@a: middleware must be named by text that is not empty.",
      " /@a/@a: the name of the route is empty.",
    ]);
  });

  test("the location is the route's line, even in a group or a resource", () => {
    const first = Route.get("//a", handler);
    const second = Route.api("orders", OrdersController as never, { only: ["index"] });
    const entries = [Route.group({ prefix: "/g" }, [first, second])];
    const lines = (() => {
      try {
        make(entries);
        return [];
      } catch (error) {
        return (error as AshlarError).message.match(/test\.ts:\d+/g)!.map((place) => Number(place.slice(8)));
      }
    })();
    expect(lines).toHaveLength(2);
    expect(lines[1]! - lines[0]!).toBe(1);
  });

  test("valid routes have no problems", () => {
    expect(problemsOf([])).toEqual([]);
    expect(problemsOf([get("/a"), Route.post("/a", handler), Route.get("/b", [OrdersController, "show"])])).toEqual([]);
  });
});

describe("patterns", () => {
  test.each([
    ["/a//b", "GET /a//b: the path has two slashes in a row."],
    ["//a", "GET //a: the path has two slashes in a row."],
    ["/@", 'GET /@: "@" is not a parameter; it must fill a segment'],
    ["/@id.json", 'GET /@id.json: "@id.json" is not a parameter;'],
    ["/@1a", 'GET /@1a: "@1a" is not a parameter;'],
    ["/@a-b", 'GET /@a-b: "@a-b" is not a parameter;'],
    ["/@id:", 'GET /@id:: "@id:" is not a parameter;'],
    ["/@id:int:int", 'GET /@id:int:int: "@id:int:int" is not a parameter;'],
    ["/@id:nothing", 'GET /@id:nothing: unknown compiler "nothing". Known are "any", "int"'],
    ["/@id:toString", 'GET /@id:toString: unknown compiler "toString".'],
    ["/@id:signed", "GET /@id:signed: signed parameters need a key. Set APP_KEY."],
    ["/?a/b", "GET /?a/b: an optional parameter must come last;"],
    ["/?a/@b", "GET /?a/@b: an optional parameter must come last;"],
    ["/@a:any/b", "GET /@a:any/b: a parameter of the compiler any takes the rest of the path; nothing can follow it."],
    ["/?a:any/?b", "GET /?a:any/?b: a parameter of the compiler any takes the rest of the path;"],
    ["/@a/b/@a:int", 'GET /@a/b/@a:int: two parameters are named "a".'],
    ["/@constructor", 'GET /@constructor: a parameter cannot be named "constructor".'],
    ["/?__proto__", 'GET /?__proto__: a parameter cannot be named "__proto__".'],
    ["/a?b=c", 'GET /a?b=c: "?" is not allowed in the segment "a?b=c".'],
    ["/a#b", 'GET /a#b: "#" is not allowed in the segment "a#b".'],
    ["/a\\b", 'GET /a\\b: "\\\\" is not allowed in the segment "a\\b".'],
    ["/a/../b", 'GET /a/../b: ".." is not a segment; clients resolve it before they send a request.'],
    ["/%2e", 'GET /%2e: "%2e" is not a segment;'],
    ["/50%", 'GET /50%: "50%" is not encoded correctly; write a percent sign as %25.'],
  ])("%s is refused", (pattern, problem) => {
    expect(problemsOf([get(pattern)])).toEqual([expect.stringContaining(problem)]);
  });

  test("a path that is not text is refused", () => {
    expect(problemsOf([Route.get(7 as never, handler), Route.get(null as never, handler)])).toEqual([
      "GET 7: the path is a number, not text.",
      "GET null: the path is null, not text.",
    ]);
  });
});

describe("handlers", () => {
  test.each([
    [undefined, "the handler is undefined, not a function."],
    ["text", "the handler is a string, not a function."],
    [{ show: handler }, 'the handler is an object, not a function or [Controller, "method"].'],
    [OrdersController, 'the class OrdersController needs the name of a method: [OrdersController, "show"].'],
    [[OrdersController], "a controller's method is named by two things, the class and the method:"],
    [[OrdersController, "show", 1], "a controller's method is named by two things"],
    [["show", OrdersController], "a controller's method is named by two things"],
    [[handler, "show"], 'the controller "handler" is a function, not a class.'],
    [
      [OrdersController, "shwo"],
      'OrdersController has no method "shwo" (a field that holds a function does not count).',
    ],
    [[OrdersController, "field"], 'OrdersController has no method "field"'],
    [[OrdersController, "constructor"], 'OrdersController has no method "constructor"'],
    [[OrdersController, "toString"], 'OrdersController has no method "toString"'],
    [[OrdersController, "__proto__"], 'OrdersController has no method "__proto__"'],
  ])("%o is refused", (action, problem) => {
    expect(problemsOf([Route.get("/", action as never)])).toEqual([expect.stringContaining(`GET /: ${problem}`)]);
  });

  test("an inherited method counts, and so does one named like a method of Object", () => {
    class Special extends OrdersController {
      override toString(): string {
        return "special";
      }
    }
    expect(problemsOf([Route.get("/a", [Special, "show"]), Route.get("/b", [Special, "toString"])])).toEqual([]);
  });

  test("a resource whose controller lacks methods is refused, naming each missing method", () => {
    expect(
      problemsOf([Route.api("orders", OrdersController as never, { only: ["index", "show", "destroy"] })]),
    ).toEqual([
      'GET /orders: OrdersController has no method "index" (a field that holds a function does not count).',
      'DELETE /orders/@id: OrdersController has no method "destroy" (a field that holds a function does not count).',
    ]);
  });

  test("a view without a template, a redirect without a target and a redirect with a non-redirect status are refused", () => {
    expect(
      problemsOf([
        Route.view("/v", ""),
        Route.redirect("/r", ""),
        Route.redirect("/s", "/t", 200),
        Route.redirect("/u", "/t", 308),
      ]),
    ).toEqual([
      "GET /v: the name of the template is empty.",
      "GET /r: the target of the redirect is empty.",
      "GET /s: 200 is not the status of a redirect; use 301, 302, 303, 307, 308.",
    ]);
  });
});

describe("methods, names, middleware, lists", () => {
  test("methods that a route cannot have are refused", () => {
    expect(problemsOf([Route.match(["TRACE", "HEAD"] as never, "/", handler)])).toEqual([
      'TRACE|HEAD /: "TRACE" is not a method of a route; use GET, POST, PUT, PATCH, DELETE, OPTIONS.',
    ]);
    expect(problemsOf([Route.match(["HEAD"] as never, "/", handler)])).toEqual([
      'HEAD /: "HEAD" is not a method of a route; a route for GET handles it too.',
    ]);
    expect(problemsOf([Route.match("GET" as never, "/", handler)])).toEqual(["? /: it has no method."]);
    expect(make([Route.match(["get", "GET", "post"] as never, "/", handler)]).routes[0]!.methods).toEqual([
      "GET",
      "POST",
    ]);
  });

  test("two routes with the same name are refused, wherever they are", () => {
    const group = Route.group({ name: "orders." }, [get("/b").name("show")]);
    expect(problemsOf([get("/a").name("orders.show"), group, get("/c").name("other")])).toEqual([
      'two routes are named "orders.show"; the other is at HERE.',
    ]);
  });

  test("the message about a duplicate name says how to rename a resource, the API's if there is one", () => {
    const Orders = class {
      index(): void {}
      show(): void {}
    };
    const page = get("/orders/@id:int").name("orders.show");
    const api = Route.api("orders", Orders, { only: ["show"] });
    const same = 'two routes are named "orders.show"; the other is at HERE.';
    const rename = 'To rename those of the resource, write Route.api("orders", …).names("api.orders").';
    const below = Route.group({ prefix: "/api" }, [api]);
    expect(problemsOf([page, below])).toEqual([`${same} ${rename}`]);
    expect(problemsOf([below, Route.resource("orders", Orders, { only: ["show"] })])).toEqual([`${same} ${rename}`]);
    const pages = Route.resource("orders", Orders, { only: ["show"] }).prefix("/shop");
    expect(problemsOf([page, pages])).toEqual([
      `${same} To rename those of the resource, write Route.resource("orders", …).names("pages.orders").`,
    ]);
    expect(problemsOf([page, below.names("api.orders")])).toEqual([]);
  });

  test("middleware that is not named by text is refused", () => {
    const problem = "GET /: middleware must be named by text that is not empty.";
    expect(problemsOf([get("/").middleware("")])).toEqual([problem]);
    expect(problemsOf([get("/").middleware(":jwt")])).toEqual([problem]);
    expect(problemsOf([get("/").middleware(handler as never)])).toEqual([problem]);
    expect(problemsOf([get("/").withoutMiddleware(undefined as never)])).toEqual([problem]);
  });

  test("an entry that is not a route, and ROUTES that is not a list, are refused with the file's name", () => {
    expect(() => make([get("/"), "text" as never, [null as never]])).toThrow(
      "There are 2 problems in the routes:\n" +
        "  routes/web.ts  ROUTES lists something that is not a route.\n" +
        "  routes/web.ts  ROUTES lists something that is not a route.",
    );
    expect(() => make(undefined as never)).toThrow(
      "There is a problem in the routes:\n  routes/web.ts  ROUTES is not a list.",
    );
    expect(problemsOf([Route.group({}, [])])).toEqual(["the group has no routes."]);
    expect(problemsOf([...Route.group({}, [])])).toEqual(["the group has no routes."]);
  });

  test("a group with misspelled options or invalid arguments is refused", () => {
    const group = (options: object, entries: unknown = [get("/")]) => Route.group(options, entries as never);
    expect(
      problemsOf([
        group({ middlewares: ["auth"] }),
        group({ middleware: "auth" }),
        group({ withoutMiddleware: "auth" }),
        group({ prefix: 7 }),
        group([get("/")]),
        group({}, get("/")),
        group({}, []),
        group({ name: undefined, middleware: undefined }),
      ]),
    ).toEqual([
      'a group has no option "middlewares". Did you mean "middleware"?',
      'the option "middleware" of a group must be a list.',
      'the option "withoutMiddleware" of a group must be a list.',
      'the option "prefix" of a group must be text.',
      "the first argument of a group must be an object with what its routes share.",
      "the second argument of a group must be the list of its routes.",
      "the group has no routes.",
    ]);
  });

  test("a resource with an invalid name, without actions or with unknown actions is refused", () => {
    const api = (name: string, options = {}) => Route.api(name, OrdersController as never, options);
    expect(problemsOf([api("a b"), api(""), api("orders/@id"), api("x", { only: [] })])).toEqual([
      '"a b" is not the name of a resource; use letters, digits, "-", "_", "." and "/".',
      '"" is not the name of a resource; use letters, digits, "-", "_", "." and "/".',
      '"orders/@id" is not the name of a resource; use letters, digits, "-", "_", "." and "/".',
      "the resource has no actions left.",
    ]);
    expect(problemsOf([api("x", { only: ["shwo"] }), api("y", { except: ["create"] })])).toEqual([
      'the resource has no action "shwo". Did you mean "show"?',
      'the resource has no action "create". Known are "destroy", "index", "show", "store", "update".',
    ]);
  });

  test("invalid hosts, and parameters in both path and host, are refused", () => {
    expect(problemsOf([get("/a").domain(""), get("/b").domain("a..b"), get("/c").domain("@x.@x")])).toEqual([
      "GET /a: the domain is empty.",
      'GET /b: "a..b" is not a host; write api, @account or @account.example.com.',
      'GET /c: the domain "@x.@x" has two parameters with the same name.',
    ]);
    expect(problemsOf([get("/@account").domain("@account")])).toEqual([
      'GET /@account: the path and the domain both have a parameter named "account".',
    ]);
    expect(problemsOf([get("/").domain("@constructor")])).toHaveLength(1);
  });
});

describe("routes that are never reached", () => {
  const never = (label: string, winner: string, without = "") =>
    `${label}: is never reached${without}; ${winner} at HERE matches all of its paths.`;

  test("the same method and path defined twice", () => {
    expect(problemsOf([get("/a/"), get("a")])).toEqual([never("GET /a", "/a")]);
    expect(problemsOf([get("/a/@x"), get("/a/@y")])).toEqual([never("GET /a/@y", "/a/@x")]);
    expect(problemsOf([get("/@x:int/b"), get("/@y:integer/b")])).toEqual([never("GET /@y:integer/b", "/@x:int/b")]);
    expect(problemsOf([get("/@x:any"), get("/@y:any")])).toEqual([never("GET /@y:any", "/@x:any")]);
    expect(problemsOf([get("/café"), get("/caf%c3%a9"), get("/c%61f%C3%A9")])).toHaveLength(2);
    expect(problemsOf([Route.any("/a", handler), get("/a"), Route.put("/a", handler)])).toEqual([
      never("GET /a", "/a"),
      never("PUT /a", "/a"),
    ]);
    expect(problemsOf([Route.any("/a", handler), Route.any("/a", handler)])).toEqual([never("GET /a", "/a")]);
  });

  test("the same compiler of the application twice, but not two different ones", async () => {
    const compilers = await ownCompilers({ year: /\d{4}/, code: /\w{4}/ });
    expect(problemsOf([get("/@a:year"), get("/@b:year")], { compilers })).toEqual([never("GET /@b:year", "/@a:year")]);
    expect(problemsOf([get("/@a:code"), get("/@b:year"), get("/@c:int"), get("/@d")], { compilers })).toEqual([]);
  });

  test("numbers after slugs, because numbers are slugs too", () => {
    expect(problemsOf([get("/@slug:slug"), get("/@id:int")])).toEqual([never("GET /@id:int", "/@slug:slug")]);
    expect(problemsOf([get("/@id:int"), get("/@slug:slug")])).toEqual([]);
    expect(problemsOf([get("/@a:slug/@b:int"), get("/@a:int/@b:slug")])).toEqual([]);
    expect(problemsOf([get("/@slug:slug"), get("/@id:uuid"), get("/@w:string")])).toEqual([]);
  });

  test("a route that another one shadows when its optional parameters are missing", () => {
    expect(problemsOf([get("/a"), get("/a/?id")])).toEqual([never("GET /a/?id", "/a", " without ?id")]);
    expect(problemsOf([get("/a/?id"), get("/a")])).toEqual([never("GET /a", "/a/?id")]);
    expect(problemsOf([get("/a/@x"), get("/a/?y/?z")])).toEqual([never("GET /a/?y/?z", "/a/@x", " without ?z")]);
  });

  test("the same path with another method or host is a different route", () => {
    expect(
      problemsOf([get("/a"), Route.post("/a", handler), get("/a").domain("api"), get("/a").domain("www")]),
    ).toEqual([]);
    expect(problemsOf([get("/a").domain("@x"), get("/a").domain("@y")])).toEqual([never("GET /a", "/a")]);
    expect(problemsOf([get("/a").domain("API"), get("/a").domain("api")])).toEqual([never("GET /a", "/a")]);
  });

  test("a more general route next to a more specific one is fine, whatever the order", () => {
    const wide = ["/@a:any", "/x/@a:any", "/x/@a", "/x/@a:int", "/x/7", "/x/@a/y", "/x/7/@b"];
    expect(problemsOf(wide.map(get))).toEqual([]);
    expect(problemsOf(wide.toReversed().map(get))).toEqual([]);
  });
});

describe("compilers", () => {
  test("those that cannot be used are refused", async () => {
    const compilers = await ownCompilers({
      int: /\d/,
      signed: /\d/,
      any: /\d/,
      "a-b": /\d/,
      text: "\\d" as never,
      flagged: /a/g,
      nested: /(a+)+/,
      ahead: /a(?!b)/,
      fine: /[a-z]+(?:-[a-z]+)*/,
    });
    expect(problemsOf([get("/@x:fine")], { compilers })).toEqual([
      '"int" cannot be used: there is a built-in compiler of this name.',
      '"signed" cannot be used: there is a built-in compiler of this name.',
      '"any" cannot be used: there is a built-in compiler of this name.',
      '"a-b" cannot be used: its name is not made of letters, digits and underscores.',
      '"text" cannot be used: it is not a regular expression.',
      '"flagged" cannot be used: the flags g and y make it remember its last match; leave them out.',
      '"ahead" cannot be used: RE2 cannot match it (invalid or unsupported Perl syntax: `(?!`); assertions such as (?=…) and references such as \\1 are not supported.',
    ]);
  });
});
