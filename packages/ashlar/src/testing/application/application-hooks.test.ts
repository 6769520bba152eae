import { describe, expect, test } from "vitest";
import { createApplication } from "../../boot/index.ts";
import { HttpContext } from "../../http/index.ts";
import { HttpKernel, type MiddlewareEntry, type RouteMiddleware } from "../../kernel/index.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import { contextFor, markRequest, prepareApplication } from "./application-hooks.ts";

const environment = { APP_ENV: "test", APP_URL: "http://localhost" };

function request(path = "/"): Request {
  return new Request(`http://localhost${path}`);
}

describe("a context of the application", () => {
  test("has the properties that providers added, and belongs to the request", async () => {
    const application = await createApplication({ environment });
    application.contextProperty("kit" as never, (() => "added") as never);
    const raw = request("/somewhere?a=1");
    const context = contextFor(application, raw);
    expect(context).toBeInstanceOf(HttpContext);
    expect(context.request.raw).toBe(raw);
    expect(context.request.route()).toBeNull();
    expect(context.request.input("a")).toBe("1");
    expect((context as unknown as { kit: string }).kit).toBe("added");
    expect(context.services.appUrl).toBe("http://localhost");
    await application.shutdown();
  });

  test("creating one runs no middleware, handler or listener, whatever routes there are", async () => {
    const ran: string[] = [];
    const note =
      (name: string): MiddlewareEntry =>
      (_context, next) => {
        ran.push(name);
        return next();
      };
    class Kernel extends HttpKernel {
      override httpMiddleware: readonly MiddlewareEntry[] = [note("http")];
      override routeMiddleware: RouteMiddleware = { web: [note("web")] };
    }
    const routes: readonly RouteEntry[] = [
      Route.any("/@path:any", () => ran.push("handler")),
      Route.get("/only", () => "only").domain("@sub.shop.example"),
    ];
    const application = await createApplication({ environment, kernel: Kernel, routes });
    application.onError(() => ran.push("listener"));
    contextFor(application, request());
    expect(ran).toEqual([]);
    await application.fetch(request("/x"));
    expect(ran).toEqual(["http", "web", "handler"]);
    await application.shutdown();
  });

  test("the router is restored afterwards", async () => {
    const application = await createApplication({ environment, routes: [Route.get("/a", () => "a")] });
    prepareApplication(application);
    expect(Object.hasOwn(application.router, "match")).toBe(false);
    expect((await application.fetch(request("/b"))).status).toBe(404);
    await application.shutdown();
  });

  test("each application has its own class", async () => {
    const [one, other] = [await createApplication({ environment }), await createApplication({ environment })];
    expect(contextFor(one, request()).constructor).not.toBe(contextFor(other, request()).constructor);
    expect(contextFor(one, request()).constructor).toBe(contextFor(one, request()).constructor);
    await Promise.all([one.shutdown(), other.shutdown()]);
  });

  test("an application that was shut down has no such class", async () => {
    const application = await createApplication({ environment });
    await application.shutdown();
    expect(() => contextFor(application, request())).toThrow(expect.objectContaining({ code: "E_SHUTTING_DOWN" }));
  });
});

describe("a marked request", () => {
  test("only its own hook is called, once, before the route's middleware", async () => {
    const ran: string[] = [];
    class Kernel extends HttpKernel {
      override httpMiddleware: readonly MiddlewareEntry[] = [
        (_context, next) => {
          ran.push("http");
          return next();
        },
      ];
      override routeMiddleware: RouteMiddleware = { web: [] };
    }
    const routes = [Route.get("/a", () => "a"), Route.put("/b", () => "b")];
    const application = await createApplication({ environment, kernel: Kernel, routes });
    prepareApplication(application);
    prepareApplication(application);
    const marked = request("/a");
    markRequest(marked, ({ request: { raw } }) => ran.push(raw === marked ? "hook" : "another"));
    expect(await (await application.fetch(marked)).text()).toBe("a");
    await application.fetch(request("/a"));
    const form = new Request(marked.url.replace("/a", "/b"), {
      method: "POST",
      body: new URLSearchParams({ __method: "put" }),
    });
    markRequest(form, () => ran.push("hook"));
    expect(await (await application.fetch(form)).text()).toBe("b");
    expect(ran).toEqual(["hook", "http", "http", "hook", "http"]);
    await application.shutdown();
  });

  test("its hook is called before the middleware of a route that reads a body", async () => {
    const ran: string[] = [];
    class Kernel extends HttpKernel {
      override routeMiddleware: RouteMiddleware = {
        web: [
          (_context, next) => {
            ran.push("web");
            return next();
          },
        ],
      };
    }
    const routes = [Route.post("/a", () => "a")];
    const application = await createApplication({ environment, kernel: Kernel, routes });
    prepareApplication(application);
    const form = new Request("http://localhost/a", { method: "POST", body: new URLSearchParams({ b: "1" }) });
    markRequest(form, () => ran.push("hook"));
    await application.fetch(form);
    expect(ran).toEqual(["hook", "web"]);
    await application.shutdown();
  });
});
