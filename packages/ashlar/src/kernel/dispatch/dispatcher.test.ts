import { describe, expect, test } from "vitest";
import { applicationOf, ask, json } from "../../../test/support/dispatched.ts";
import type { Application } from "../../boot/application/application.ts";
import { createApplication } from "../../boot/application/create-application.ts";
import type { HttpContext, Next } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";
import { HttpKernel, type MiddlewareEntry } from "../pipeline/http-kernel.ts";

const ENVIRONMENT = { APP_ENV: "test" };

describe("responses", () => {
  test("a synchronous handler returns its response without a promise", async () => {
    const application = await applicationOf([Route.get("/", () => "hello")], [(_, next) => next()]);
    const response = application.fetch(new Request("http://localhost/"));
    expect(response).toBeInstanceOf(Response);
    expect(await (response as Response).text()).toBe("hello");
  });

  test("text becomes a page, an object JSON, nothing 204, and a Response is sent as it is", async () => {
    const application = await applicationOf([
      Route.get("/text", () => "<p>hi</p>"),
      Route.get("/object", async () => ({ a: 1 })),
      Route.get("/response", () => new Response("as it is", { status: 202, headers: { "x-a": "b" } })),
      Route.get("/nothing", () => undefined),
      Route.get("/context", ({ response }) => response.status(201).json({ made: true })),
    ]);
    const seen = await Promise.all(
      ["/text", "/object", "/response", "/nothing", "/context"].map((path) => ask(application, path)),
    );
    expect(seen.map(({ status, body, headers }) => [status, headers.get("content-type"), body])).toEqual([
      [200, "text/html; charset=utf-8", "<p>hi</p>"],
      [200, "application/json; charset=utf-8", '{"a":1}'],
      [202, "text/plain;charset=UTF-8", "as it is"],
      [204, null, ""],
      [201, "application/json; charset=utf-8", '{"made":true}'],
    ]);
    expect(seen[2]!.headers.get("x-a")).toBe("b");
  });

  test("a redirect route redirects, to other sites as well", async () => {
    const application = await applicationOf([
      Route.redirect("/old", "/new"),
      Route.redirect("/moved", "https://elsewhere.example/a?b=c", 308),
    ]);
    const old = await ask(application, "/old");
    const moved = await ask(application, "/moved");
    expect([old.status, old.headers.get("location")]).toEqual([302, "/new"]);
    expect([moved.status, moved.headers.get("location")]).toEqual([308, "https://elsewhere.example/a?b=c"]);
  });

  test("a controller is created once, with the container, and is `this` in its methods", async () => {
    let made = 0;
    class Orders {
      readonly name: string;
      constructor(container: Application["container"]) {
        made++;
        this.name = container.make("application").settings.name;
      }
      index(): string {
        return this.name;
      }
      show({ request }: HttpContext): string {
        return `${this.name} ${request.param("id")}`;
      }
    }
    const application = await applicationOf([
      Route.get("/orders", [Orders, "index"]),
      Route.get("/orders/@id", [Orders, "show"]),
    ]);
    expect((await ask(application, "/orders")).body).toBe("Ashlar");
    expect((await ask(application, "/orders/7")).body).toBe("Ashlar 7");
    expect(made).toBe(1);
  });
});

describe("HEAD, OPTIONS, 405, 404", () => {
  const routes = [
    Route.get("/page", () => "hello"),
    Route.get("/own", ({ response }) => response.header("content-length", 3).header("x-a", "b").text("abc")),
    Route.get("/stream", () => new Response(new Blob(["abc"]).stream())),
    Route.post("/form", () => "posted"),
    Route.match(["PUT", "DELETE"], "/form", () => "changed"),
    Route.get("/with-options", () => "page"),
    Route.options("/with-options", () => new Response(null, { status: 200, headers: { "x-own": "yes" } })),
  ];

  test("HEAD on a GET route has its headers and its length, but no body", async () => {
    const application = await applicationOf(routes);
    const { status, body, headers } = await ask(application, "/page", { method: "HEAD" });
    expect([status, body, headers.get("content-length"), headers.get("content-type")]).toEqual([
      200,
      "",
      "5",
      "text/html; charset=utf-8",
    ]);
    const own = await ask(application, "/own", { method: "HEAD" });
    expect([own.body, own.headers.get("content-length"), own.headers.get("x-a")]).toEqual(["", "3", "b"]);
  });

  test("HEAD cancels the stream of the response", async () => {
    let cancelled = false;
    const cancel = () => {
      cancelled = true;
    };
    const stream = () => new ReadableStream({ cancel });
    const application = await applicationOf([
      Route.get("/", () => new Response(stream())),
      Route.get("/own", ({ response }) => response.stream(stream())),
    ]);
    for (const path of ["/", "/own"]) {
      cancelled = false;
      expect((await ask(application, path, { method: "HEAD" })).body).toBe("");
      expect(cancelled).toBe(true);
    }
  });

  test("HEAD is 405 without a GET route, and 404 on an unknown path, both without a body", async () => {
    const application = await applicationOf(routes);
    const known = await ask(application, "/form", { method: "HEAD" });
    expect([known.status, known.headers.get("allow"), known.body]).toEqual([405, "POST, PUT, DELETE, OPTIONS", ""]);
    const unknown = await ask(application, "/nowhere", { method: "HEAD" });
    expect([unknown.status, unknown.body]).toEqual([404, ""]);
  });

  test("an unsupported method on a known path is 405 with Allow, and OPTIONS is 204 with Allow", async () => {
    const application = await applicationOf(routes);
    const post = await ask(application, "/page", { method: "POST" });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    expect(post.body).toContain("<h1>This page can&#39;t be opened this way</h1>");
    const options = await ask(application, "/form", { method: "OPTIONS" });
    expect([options.status, options.headers.get("allow"), options.body]).toEqual([
      204,
      "POST, PUT, DELETE, OPTIONS",
      "",
    ]);
  });

  test("a route for OPTIONS handles it", async () => {
    const answer = await ask(await applicationOf(routes), "/with-options", { method: "OPTIONS" });
    expect([answer.status, answer.headers.get("x-own"), answer.headers.get("allow")]).toEqual([200, "yes", null]);
    const refused = await ask(await applicationOf(routes), "/with-options", { method: "DELETE" });
    expect(refused.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
  });

  test("an unknown path is 404, for OPTIONS and unknown methods too", async () => {
    const application = await applicationOf(routes);
    for (const method of ["GET", "POST", "OPTIONS", "PROPFIND"]) {
      expect((await ask(application, "/nowhere", { method })).status).toBe(404);
    }
    expect((await ask(application, "/page", { method: "PROPFIND" })).status).toBe(405);
  });

  test("routes with a domain match only on that host", async () => {
    const application = await applicationOf([
      Route.get("/", ({ request }) => `account ${request.param("account")}`).domain("@account.example.com"),
      Route.get("/shared", () => "shared"),
    ]);
    const on = (host: string, path: string) => ask(application, path, { headers: { host } });
    expect((await on("acme.example.com:8080", "/")).body).toBe("account acme");
    expect((await on("example.com", "/")).status).toBe(404);
    expect((await on("acme.example.com", "/shared")).body).toBe("shared");
  });
});

describe("HTTP middleware", () => {
  test("it wraps everything: routes, 404, 405, OPTIONS, malformed paths, malformed bodies, errors", async () => {
    const seen: string[] = [];
    const stamp: MiddlewareEntry = async (context, next) => {
      const result = await next();
      seen.push(`${context.request.raw.method} ${context.request.getPath()}`);
      context.response.header("x-stamp", "yes");
      return result;
    };
    const application = await applicationOf(
      [
        Route.get("/", () => "hello"),
        Route.post("/", ({ request }) => request.all()),
        Route.get("/boom", () => Promise.reject(new Error("boom"))),
        Route.get("/refused", () => {
          throw new AshlarError("E_FORBIDDEN");
        }),
      ],
      [stamp],
    );
    const requests: [string, RequestInit, number][] = [
      ["/", {}, 200],
      ["/", { method: "HEAD" }, 200],
      ["/nowhere", {}, 404],
      ["/", { method: "PUT" }, 405],
      ["/", { method: "OPTIONS" }, 204],
      ["/%zz", {}, 400],
      ["/", { ...json(0), body: "{" }, 400],
      ["/", { ...json(0), body: "x".repeat(2_000_000) }, 413],
      ["/boom", {}, 500],
      ["/refused", {}, 403],
    ];
    for (const [path, init, status] of requests) {
      const answer = await ask(application, path, init);
      expect([path, init.method, answer.status, answer.headers.get("x-stamp")]).toEqual([
        path,
        init.method,
        status,
        "yes",
      ]);
    }
    expect(seen).toHaveLength(requests.length);
  });

  test("an error that it throws becomes a response, before and after calling next", async () => {
    const failing = (when: "before" | "after"): MiddlewareEntry => {
      return async (_, next) => {
        if (when === "before")
          throw new AshlarError("E_TOO_MANY_REQUESTS", undefined, { headers: { "retry-after": "9" } });
        await next();
        throw new TypeError("after");
      };
    };
    const before = await ask(await applicationOf([Route.get("/", () => "x")], [failing("before")]), "/");
    expect([before.status, before.headers.get("retry-after")]).toEqual([429, "9"]);
    const after = await ask(await applicationOf([Route.get("/", () => "x")], [failing("after")]), "/");
    expect(after.status).toBe(500);
  });

  test("cookies set before an error are in its response, once", async () => {
    const application = await applicationOf(
      [
        Route.get("/", ({ response }) => {
          response.cookie("a", "b").header("cache-control", "public").header("content-length", 9999);
          throw new AshlarError("E_FORBIDDEN");
        }),
      ],
      [(_, next) => next()],
    );
    const answer = await ask(application, "/");
    expect(answer.headers.getSetCookie()).toHaveLength(1);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(Number(answer.headers.get("content-length"))).toBe(Buffer.byteLength(answer.body));
  });

  test("a middleware class is created once, for all requests", async () => {
    let made = 0;
    class Counted {
      constructor() {
        made++;
      }
      handle(_: HttpContext, next: Next): unknown {
        return next();
      }
    }
    const application = await applicationOf([Route.get("/", () => "x")], [Counted, Counted]);
    for (let index = 0; index < 3; index++) await ask(application, "/");
    expect(made).toBe(1);
  });
});

describe("JSON or page", () => {
  class Kernel extends HttpKernel {
    override routeMiddleware = { web: [], api: [] };
    override registerRoutes(): void {
      this.container.bind("routes.api.prefix", "/api");
    }
  }
  const routes = [
    Route.get("/page", () => "page"),
    Route.get("/json", () => "json").respondsWithJson(),
    Route.get("/broken", () => {
      throw new Error("boom");
    }).respondsWithJson(),
  ];

  test("an unknown path under the API's prefix responds with JSON, whatever the caller accepts", async () => {
    const application = await createApplication({ kernel: Kernel, routes, environment: ENVIRONMENT });
    const headers = { accept: "text/html" };
    for (const path of ["/api", "/api/nowhere"]) {
      const answer = await ask(application, path, { headers });
      expect([path, answer.status, answer.headers.get("content-type")]).toEqual([
        path,
        404,
        "application/problem+json",
      ]);
    }
    expect((await ask(application, "/apinowhere", { headers })).headers.get("content-type")).toContain("text/html");
  });

  test("a route with answersJson responds with JSON for its 405 and its 500, too", async () => {
    const application = await createApplication({ kernel: Kernel, routes, environment: ENVIRONMENT });
    const headers = { accept: "text/html" };
    const refused = await ask(application, "/json", { method: "DELETE", headers });
    expect([refused.status, refused.headers.get("allow"), refused.headers.get("content-type")]).toEqual([
      405,
      "GET, HEAD, OPTIONS",
      "application/problem+json",
    ]);
    expect((await ask(application, "/broken", { headers })).headers.get("content-type")).toBe(
      "application/problem+json",
    );
    expect((await ask(application, "/page", { method: "DELETE", headers })).headers.get("content-type")).toContain(
      "text/html",
    );
  });

  test("a route with the stack api responds with JSON, wherever it is listed and in whatever order its middleware runs", async () => {
    const refusing = (code: "E_UNAUTHENTICATED" | "E_TOO_MANY_REQUESTS") =>
      class {
        handle(): never {
          throw new AshlarError(code);
        }
      };
    class WithApi extends Kernel {
      override routeMiddleware = {
        web: [],
        api: [],
        refuses: [refusing("E_UNAUTHENTICATED")],
        throttles: [refusing("E_TOO_MANY_REQUESTS")],
      };
    }
    const missing = () => {
      throw new AshlarError("E_NOT_FOUND");
    };
    const entries = [
      Route.get("/last", missing).middleware("refuses", "api"),
      Route.get("/first", missing).middleware("api", "throttles"),
      Route.get("/alone", missing).middleware("api"),
      Route.get("/invalid", async ({ request }) => {
        await request.validate({
          "~standard": { version: 1, vendor: "test", validate: () => ({ issues: [{ message: "No.", path: ["a"] }] }) },
        });
      }).middleware("api"),
      Route.group({ prefix: "/in", middleware: ["throttles"] }, [
        Route.group({ middleware: ["api"] }, [Route.get("/groups", missing)]),
        Route.get("/a-group", missing).middleware("api"),
        Route.get("/none", missing),
      ]),
      Route.get("/collected", missing),
      ...Route.group({}, [Route.get("/taken-away", missing).middleware("api").withoutMiddleware("api")]),
    ];
    const application = await createApplication({ kernel: WithApi, routes: entries, environment: ENVIRONMENT });
    const answered = async (path: string, method = "GET") => {
      const answer = await ask(application, path, { method, headers: { accept: "text/html" } });
      return [answer.status, answer.headers.get("content-type")?.split(";")[0]];
    };
    const json = "application/problem+json";
    expect(await answered("/last")).toEqual([401, json]);
    expect(await answered("/first")).toEqual([429, json]);
    expect(await answered("/alone")).toEqual([404, json]);
    expect(await answered("/alone", "DELETE")).toEqual([405, json]);
    expect(await answered("/invalid")).toEqual([422, json]);
    expect(await answered("/in/groups")).toEqual([429, json]);
    expect(await answered("/in/a-group")).toEqual([429, json]);
    expect(await answered("/in/none")).toEqual([429, "text/html"]);
    expect(await answered("/collected")).toEqual([404, "text/html"]);
    expect(await answered("/taken-away")).toEqual([404, "text/html"]);
  });

  test("a caller that prefers JSON gets an error of a page as JSON", async () => {
    const application = await createApplication({ kernel: Kernel, routes, environment: ENVIRONMENT });
    const answer = await ask(application, "/nowhere", { headers: { accept: "application/json" } });
    expect(JSON.parse(answer.body)).toEqual({
      type: "about:blank",
      title: "Not Found",
      status: 404,
      detail: "The page or resource was not found.",
      code: "E_NOT_FOUND",
    });
    expect(answer.headers.get("vary")).toBe("accept");
  });
});
