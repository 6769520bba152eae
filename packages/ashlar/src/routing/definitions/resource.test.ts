import { describe, expect, test } from "vitest";
import { Router } from "../router.ts";
import { Route } from "./route.ts";
import type { RouteCollection } from "./route-collection.ts";

class OrdersController {
  index(): string {
    return "index";
  }
  show(): string {
    return "show";
  }
  store(): string {
    return "store";
  }
  update(): string {
    return "update";
  }
  destroy(): string {
    return "destroy";
  }
  create(): string {
    return "create";
  }
  edit(): string {
    return "edit";
  }
}

function routerOf(entry: RouteCollection): Router {
  return new Router([{ entries: [entry], stack: null, prefix: "", respondsWithJson: false, file: "routes/api.ts" }]);
}

/** The columns of the route list: methods, path, name and action. */
function table(entry: RouteCollection): string[] {
  return routerOf(entry).routes.map(({ methods, pattern, name, handler }) => {
    const action = Array.isArray(handler) ? handler[1] : "?";
    return `${methods.join("|")} ${pattern} ${name} ${action}`;
  });
}

describe("Route.api", () => {
  test("the five routes of a resource, update for PUT and PATCH under one name", () => {
    expect(table(Route.api("orders", OrdersController))).toEqual([
      "GET /orders orders.index index",
      "POST /orders orders.store store",
      "GET /orders/@id orders.show show",
      "PUT|PATCH /orders/@id orders.update update",
      "DELETE /orders/@id orders.destroy destroy",
    ]);
  });

  test("names() renames the routes of resources, before or after grouping, and no other routes", () => {
    const api = Route.api("users.orders", OrdersController, { only: ["index", "show"] });
    const names = (entry: RouteCollection): string[] => table(entry).map((line) => line.split(" ")[2]!);
    expect(names(api.names("api.orders"))).toEqual(["api.orders.index", "api.orders.show"]);
    expect(names(api.middleware("auth").names("api.orders"))).toEqual(["api.orders.index", "api.orders.show"]);
    expect(names(api.names("orders").name("api."))).toEqual(["api.orders.index", "api.orders.show"]);
    const group = Route.group({}, [Route.get("/", () => "").name("home"), api]);
    expect(table(group.names("mine")).map((line) => line.split(" ")[2])).toEqual(["home", "mine.index", "mine.show"]);
    expect(names(api)).toEqual(["users.orders.index", "users.orders.show"]);
    for (const base of ["", "api.", 7 as never]) {
      expect(() => routerOf(api.names(base))).toThrow("names() takes the prefix of the routes' names, such as");
    }
  });

  test("each is reached by its method and path", () => {
    const router = routerOf(Route.api("orders", OrdersController));
    const reached = [
      ["GET", "/orders"],
      ["POST", "/orders"],
      ["GET", "/orders/7"],
      ["PUT", "/orders/7"],
      ["PATCH", "/orders/7"],
      ["DELETE", "/orders/7"],
    ].map(([method, path]) => router.match(method!, path!, null)?.route.name);
    expect(reached).toEqual([
      "orders.index",
      "orders.store",
      "orders.show",
      "orders.update",
      "orders.update",
      "orders.destroy",
    ]);
    expect(router.to("orders.update", { id: 7 })).toBe("/orders/7");
    expect(router.allowedMethods("/orders", null)).toEqual(["GET", "HEAD", "POST"]);
  });

  test("a slash at the beginning or the end is tolerated", () => {
    expect(table(Route.api("/orders", OrdersController))).toEqual(table(Route.api("orders", OrdersController)));
    expect(table(Route.api("orders/", OrdersController))).toEqual(table(Route.api("orders", OrdersController)));
  });

  test("only and except choose among the actions", () => {
    const show = ["GET /orders orders.index index", "GET /orders/@id orders.show show"];
    expect(table(Route.api("orders", OrdersController, { only: ["show", "index"] }))).toEqual(show);
    expect(table(Route.api("orders", OrdersController, { except: ["store", "update", "destroy"] }))).toEqual(show);
    expect(table(Route.api("orders", OrdersController, { only: ["index", "show"], except: ["index"] }))).toEqual([
      "GET /orders/@id orders.show show",
    ]);
  });

  test("a dot nests one resource inside another", () => {
    expect(table(Route.api("users.orders", OrdersController, { only: ["index", "show"] }))).toEqual([
      "GET /users/@user_id/orders users.orders.index index",
      "GET /users/@user_id/orders/@id users.orders.show show",
    ]);
    expect(table(Route.api("shops.order-items.notes", OrdersController, { only: ["show"] }))).toEqual([
      "GET /shops/@shop_id/order-items/@order_item_id/notes/@id shops.order-items.notes.show show",
    ]);
  });

  test("a slash makes a plain path prefix, and becomes a dot in the names", () => {
    expect(table(Route.api("admin/orders", OrdersController, { only: ["show"] }))).toEqual([
      "GET /admin/orders/@id admin.orders.show show",
    ]);
    expect(table(Route.api("admin/users.orders", OrdersController, { only: ["index"] }))).toEqual([
      "GET /admin/users/@user_id/orders admin.users.orders.index index",
    ]);
  });

  test.each([
    ["users", "user_id"],
    ["categories", "category_id"],
    ["addresses", "address_id"],
    ["boxes", "box_id"],
    ["branches", "branch_id"],
    ["statuses", "status_id"],
    ["houses", "house_id"],
    ["keys", "key_id"],
    ["staff", "staff_id"],
    ["glass", "glass_id"],
  ])("the parameter of a member of %s is %s", (outer, parameter) => {
    const [route] = routerOf(Route.api(`${outer}.x`, OrdersController, { only: ["index"] })).routes;
    expect(route!.pattern).toBe(`/${outer}/@${parameter}/x`);
  });

  test("it returns an ordinary collection", () => {
    const entry = Route.group({ prefix: "/v1", name: "v1." }, [
      ...Route.api("orders", OrdersController, { only: ["index"] }).middleware("guard:jwt"),
    ]);
    expect(routerOf(entry).routes[0]).toMatchObject({
      pattern: "/v1/orders",
      name: "v1.orders.index",
      middleware: ["guard:jwt"],
    });
  });
});

describe("Route.resource", () => {
  test("adds the pages with the forms, which a member called create or edit does not hide", () => {
    expect(table(Route.resource("orders", OrdersController))).toEqual([
      "GET /orders orders.index index",
      "GET /orders/create orders.create create",
      "POST /orders orders.store store",
      "GET /orders/@id orders.show show",
      "GET /orders/@id/edit orders.edit edit",
      "PUT|PATCH /orders/@id orders.update update",
      "DELETE /orders/@id orders.destroy destroy",
    ]);
    const router = routerOf(Route.resource("orders", OrdersController));
    expect(router.match("GET", "/orders/create", null)?.route.name).toBe("orders.create");
    expect(router.match("GET", "/orders/7/edit", null)?.route.name).toBe("orders.edit");
  });
});
