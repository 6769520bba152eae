import { describe, expect, test } from "vitest";
import { Route } from "./definitions/route.ts";
import type { RouteEntry } from "./definitions/route-collection.ts";
import { Router } from "./router.ts";

const answer = () => "answer";

function routerOf(...entries: RouteEntry[]): Router {
  return new Router([{ entries, stack: "web", prefix: "", respondsWithJson: false, file: "routes/web.ts" }]);
}

function found(router: Router, path: string, method = "GET") {
  const match = router.match(method, path, null);
  return match === null ? 404 : { ...match.params };
}

describe("the cases of routing", () => {
  test("/home/ matches the route /home", () => {
    const router = routerOf(Route.get("/home", answer));
    expect(router.match("GET", "/home/", null)!.route).toBe(router.match("GET", "/home", null)!.route);
  });

  test("@id matches, with its value", () => {
    expect(found(routerOf(Route.get("/home/@id", answer)), "/home/1")).toEqual({ id: "1" });
  });

  test("@id:int does not match text", () => {
    const router = routerOf(Route.get("/home/@id:int", answer));
    expect(found(router, "/home/1")).toEqual({ id: "1" });
    expect(found(router, "/home/one")).toBe(404);
  });

  test("@slug:uuid is checked", () => {
    const router = routerOf(Route.get("/home/@slug:uuid", answer));
    const uuid = crypto.randomUUID();
    expect(found(router, `/home/${uuid}`)).toEqual({ slug: uuid });
    expect(found(router, "/home/hello-world")).toBe(404);
  });

  test("?id present and absent: its value and null", () => {
    const router = routerOf(Route.get("/home/?id", answer));
    expect(found(router, "/home/1")).toEqual({ id: "1" });
    expect(found(router, "/home")).toEqual({ id: null });
    expect(found(router, "/home/")).toEqual({ id: null });
  });

  test("/a.b does not match /axb, and /home/?id does not match /home1", () => {
    expect(found(routerOf(Route.get("/a.b", answer)), "/axb")).toBe(404);
    expect(found(routerOf(Route.get("/home/?id", answer)), "/home1")).toBe(404);
  });

  test("a known path has allowed methods even if the method does not match; an unknown path has none", () => {
    const router = routerOf(Route.get("/a", answer), Route.post("/a", answer));
    expect(found(router, "/a", "DELETE")).toBe(404);
    expect(router.allowedMethods("/a", null)).toEqual(["GET", "HEAD", "POST"]);
    expect(router.allowedMethods("/b", null)).toEqual([]);
  });

  test("HEAD is handled by the GET route", () => {
    expect(found(routerOf(Route.get("/a/@id", answer)), "/a/1", "HEAD")).toEqual({ id: "1" });
    expect(found(routerOf(Route.post("/a", answer)), "/a", "HEAD")).toBe(404);
  });

  test("groups: prefix, name prefix, middleware, nested, outer first; withoutMiddleware", () => {
    const router = routerOf(
      Route.group({ prefix: "/admin", name: "admin.", middleware: ["auth"] }, [
        Route.group({ prefix: "/users", name: "users.", middleware: ["verified", "throttle:users"] }, [
          Route.get("/@id", answer).name("show").middleware("log"),
          Route.get("/", answer).name("index").withoutMiddleware("web", "throttle"),
        ]),
      ]),
    );
    expect(router.routes.map(({ pattern, name, middleware }) => [pattern, name, middleware])).toEqual([
      ["/admin/users/@id", "admin.users.show", ["web", "auth", "verified", "throttle:users", "log"]],
      ["/admin/users", "admin.users.index", ["auth", "verified"]],
    ]);
  });

  test("URL by name: parameters in any order and a query", () => {
    const router = routerOf(Route.get("/home/@id", answer).name("home"), Route.get("/@a/@b", answer).name("two"));
    expect(router.to("home", { id: 1 }, { preview: true })).toBe("/home/1?preview=true");
    expect(router.to("two", { b: 2, a: 1 })).toBe("/1/2");
  });

  test("URL by name: a missing parameter and an unknown name are clear errors", () => {
    const router = routerOf(Route.get("/home/@id", answer).name("home"));
    expect(() => router.to("home")).toThrow('The route "home" (/home/@id) needs a value for the parameter "id".');
    expect(() => router.to("hom")).toThrow('No route is named "hom". Did you mean "home"?');
  });

  test("two routes with the same name, or with the same method and path, fail startup", () => {
    expect(() => routerOf(Route.get("/a", answer).name("a"), Route.get("/b", answer).name("a"))).toThrow(
      'two routes are named "a"',
    );
    expect(() => routerOf(Route.get("/a", answer), Route.get("/a/", answer))).toThrow("GET /a: is never reached");
  });
});

describe("resource routes", () => {
  class OrdersController {
    index(): void {}
    show(): void {}
    store(): void {}
    update(): void {}
    destroy(): void {}
  }
  const router = routerOf(Route.api("orders", OrdersController));

  test.each([
    ["GET", "/orders", "index", "orders.index"],
    ["GET", "/orders/7", "show", "orders.show"],
    ["POST", "/orders", "store", "orders.store"],
    ["PUT", "/orders/7", "update", "orders.update"],
    ["PATCH", "/orders/7", "update", "orders.update"],
    ["DELETE", "/orders/7", "destroy", "orders.destroy"],
  ])("%s %s is %s, named %s", (method, path, action, name) => {
    const { route } = router.match(method, path, null)!;
    expect([route.handler, route.name]).toEqual([[OrdersController, action], name]);
  });
});
