import { describe, expect, test } from "vitest";
import { HttpContext } from "../../http/index.ts";
import { Route } from "./route.ts";
import { RouteCollection } from "./route-collection.ts";
import { RouteDefinition } from "./route-definition.ts";

class OrdersController {
  index(): string {
    return "index";
  }
  show(context: HttpContext): unknown {
    return context.request;
  }
  store({ request }: HttpContext): unknown {
    return request;
  }
  update(context?: HttpContext): unknown {
    return context;
  }
  destroy(context: HttpContext, soft?: boolean): unknown {
    return [context, soft];
  }
  byText(text: string): string {
    return text;
  }
  byTwo(context: HttpContext, text: string): unknown {
    return [context, text];
  }
  readonly label: string = "orders";
}

class ApplicationContext extends HttpContext {
  readonly tenant: string = "a";
}

class NarrowController {
  show(context: ApplicationContext): unknown {
    return context.tenant;
  }
}

class ServedController {
  readonly services: { make(key: "router"): object };
  constructor(services: { make(key: "router"): object }) {
    this.services = services;
  }
  async show(_context: HttpContext): Promise<void> {}
}

class TwoThingsController {
  readonly things: readonly string[];
  constructor(a: string, b: string) {
    this.things = [a, b];
  }
  show(): void {}
}

class TextController {
  show(text: string): string {
    return text;
  }
}

class ReadOnlyController {
  index(): void {}
  show(): void {}
}

const handler = () => "answer";

describe("a single route", () => {
  test("each HTTP method has its own function", () => {
    const routes = [
      Route.get("/a", handler),
      Route.post("/a", handler),
      Route.put("/a", handler),
      Route.patch("/a", handler),
      Route.delete("/a", handler),
      Route.options("/a", handler),
      Route.any("/a", handler),
      Route.match(["GET", "POST"], "/a", handler),
    ];
    expect(routes.map(({ attributes }) => attributes.methods)).toEqual([
      ["GET"],
      ["POST"],
      ["PUT"],
      ["PATCH"],
      ["DELETE"],
      ["OPTIONS"],
      ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
      ["GET", "POST"],
    ]);
    expect(routes.every(({ attributes }) => attributes.path === "/a" && attributes.action === handler)).toBe(true);
  });

  test("a view is data", () => {
    expect(Route.view("/", "welcome", { title: "Hello" }).attributes.action).toEqual({
      kind: "view",
      template: "welcome",
      data: { title: "Hello" },
    });
    expect(Route.view("/", "welcome").attributes.action).toEqual({ kind: "view", template: "welcome", data: {} });
  });

  test("a redirect is data, and temporary by default", () => {
    expect(Route.redirect("/old", "/new").attributes).toMatchObject({
      methods: ["GET"],
      path: "/old",
      action: { kind: "redirect", to: "/new", status: 302 },
    });
    expect(Route.redirect("/old", "/new", 301).attributes.action).toEqual({
      kind: "redirect",
      to: "/new",
      status: 301,
    });
  });

  test("every attribute of a route is kept", () => {
    const route = Route.get("/a", handler)
      .name("a.show")
      .middleware("auth", "guard:jwt")
      .middleware("verified")
      .withoutMiddleware("web")
      .domain("api")
      .respondsWithJson();
    expect(route.attributes).toMatchObject({
      name: "a.show",
      middleware: ["auth", "guard:jwt", "verified"],
      withoutMiddleware: ["web"],
      domain: "api",
      respondsWithJson: true,
      origin: null,
      problem: null,
    });
  });

  test("a definition is immutable, so one can be the base of several", () => {
    const base = Route.get("/a", handler).middleware("auth");
    const [first, second] = [base.name("first").middleware("x"), base.name("second")];
    expect(base.attributes).toMatchObject({ name: null, middleware: ["auth"] });
    expect(first.attributes).toMatchObject({ name: "first", middleware: ["auth", "x"] });
    expect(second.attributes).toMatchObject({ name: "second", middleware: ["auth"] });
    expect(Object.isFrozen(base.attributes)).toBe(true);
  });

  test("a route remembers the file and line that define it, whatever is chained to it", () => {
    const lineOf = (route: RouteDefinition) => /^(.+):(\d+)$/.exec(String(route.attributes.location))!;
    const first = lineOf(Route.get("/a", handler));
    const second = lineOf(Route.get("/b", handler).name("b").middleware("c"));
    expect(first[1]).toBe("packages/ashlar/src/routing/definitions/route.test.ts");
    expect(Number(second[2])).toBe(Number(first[2]) + 1);
  });
});

describe("groups", () => {
  const paths = (collection: RouteCollection) => collection.routes.map(({ attributes }) => attributes.path);

  test("a group gives its prefix, name and middleware to its routes, its middleware outside theirs", () => {
    const group = Route.group({ prefix: "/admin", name: "admin.", middleware: ["auth", "staff"] }, [
      Route.get("/", handler).name("home"),
      Route.get("users", handler).middleware("throttle:users"),
    ]);
    expect(group.routes.map(({ attributes: { path, name, middleware } }) => ({ path, name, middleware }))).toEqual([
      { path: "/admin", name: "admin.home", middleware: ["auth", "staff"] },
      { path: "/admin/users", name: null, middleware: ["auth", "staff", "throttle:users"] },
    ]);
  });

  test("groups nest, the outer one outermost", () => {
    const group = Route.group({ prefix: "a", name: "a.", middleware: ["outer"], withoutMiddleware: ["web"] }, [
      Route.group({ prefix: "/b/", name: "b.", middleware: ["inner"], withoutMiddleware: ["x"] }, [
        Route.get("/c", handler).name("c").middleware("own").withoutMiddleware("y"),
      ]),
    ]);
    expect(group.routes[0]!.attributes).toMatchObject({
      path: "/a/b/c",
      name: "a.b.c",
      middleware: ["outer", "inner", "own"],
      withoutMiddleware: ["web", "x", "y"],
    });
  });

  test("lists, groups and resources can be nested and spread", () => {
    const inner = Route.group({ prefix: "/g" }, [Route.get("/1", handler), [Route.get("/2", handler)]]);
    expect(paths(Route.group({ prefix: "/p" }, [inner, ...inner, [[...inner]]]))).toEqual([
      "/p/g/1",
      "/p/g/2",
      "/p/g/1",
      "/p/g/2",
      "/p/g/1",
      "/p/g/2",
    ]);
  });

  test("the host of a route wins over that of its group", () => {
    const group = Route.group({ domain: "api" }, [Route.get("/a", handler), Route.get("/b", handler).domain("www")]);
    expect(group.routes.map(({ attributes }) => attributes.domain)).toEqual(["api", "www"]);
  });

  test("a collection accepts group options later, and is never changed itself", () => {
    const collection = Route.group({ middleware: ["inner"] }, [Route.get("/a", handler).name("a")]);
    const changed = collection
      .name("n.")
      .prefix("/p")
      .middleware("outer")
      .withoutMiddleware("web")
      .domain("api")
      .respondsWithJson();
    expect(changed.routes[0]!.attributes).toMatchObject({
      path: "/p/a",
      name: "n.a",
      middleware: ["outer", "inner"],
      withoutMiddleware: ["web"],
      domain: "api",
      respondsWithJson: true,
    });
    expect(collection.routes[0]!.attributes).toMatchObject({
      path: "/a",
      name: "a",
      middleware: ["inner"],
      domain: null,
    });
  });

  test("a group without routes, or with anything but routes in it, is recorded as a problem", () => {
    const problems = (collection: RouteCollection) => collection.routes.map(({ attributes }) => attributes.problem);
    expect(problems(Route.group({}, []))).toEqual(["the group has no routes."]);
    expect(problems(Route.group({}, [Route.get("/", handler), "x" as never]))).toEqual([
      null,
      "the group lists something that is not a route.",
    ]);
  });
});

describe("types", () => {
  test("a handler is a function that takes a context, or nothing", () => {
    Route.get("/", () => "x");
    Route.get("/", async ({ request, response }) => [request, response]);
    Route.get("/", (context: HttpContext) => context);
    // @ts-expect-error text is not a handler
    Route.get("/", "text");
    // @ts-expect-error a handler takes a context
    Route.get("/", (text: string) => text);
    // @ts-expect-error a class is not a handler
    expect(Route.get("/", OrdersController)).toBeInstanceOf(RouteDefinition);
  });

  test("a controller's method takes a context, or nothing", () => {
    Route.get("/", [OrdersController, "index"]);
    Route.get("/", [OrdersController, "show"]);
    Route.post("/", [OrdersController, "store"]);
    Route.put("/", [OrdersController, "update"]);
    Route.delete("/", [OrdersController, "destroy"]);
    Route.get("/", [ServedController, "show"]);
    // @ts-expect-error its first parameter is text
    Route.get("/", [OrdersController, "byText"]);
    // @ts-expect-error it needs a second argument
    Route.get("/", [OrdersController, "byTwo"]);
    // @ts-expect-error it is not a method
    Route.get("/", [OrdersController, "label"]);
    // @ts-expect-error there is no such method
    Route.get("/", [OrdersController, "shwo"]);
    // @ts-expect-error it needs more than the framework's context
    Route.get("/", [NarrowController, "show"]);
    // @ts-expect-error the application could not create one
    Route.get("/", [TwoThingsController, "show"]);
    // @ts-expect-error all ways to define a route are checked
    expect(Route.match(["GET"], "/", [OrdersController, "byText"])).toBeInstanceOf(RouteDefinition);
  });

  test("only methods that a route can answer are accepted", () => {
    // @ts-expect-error HEAD comes with GET
    Route.match(["HEAD"], "/", handler);
    // @ts-expect-error methods are written in capitals
    expect(Route.match(["get"], "/", handler)).toBeInstanceOf(RouteDefinition);
  });

  test("the controller of a resource has a method for each of its actions", () => {
    Route.api("orders", OrdersController);
    Route.api("orders", ReadOnlyController, { only: ["index", "show"] });
    Route.api("orders", ReadOnlyController, { except: ["store", "update", "destroy"] });
    Route.resource("orders", OrdersController, { except: ["create", "edit"] });
    // @ts-expect-error store, update and destroy are missing
    Route.api("orders", ReadOnlyController);
    // @ts-expect-error store is missing
    Route.api("orders", ReadOnlyController, { only: ["index", "store"] });
    // @ts-expect-error update and destroy are missing
    Route.api("orders", ReadOnlyController, { except: ["store"] });
    // @ts-expect-error create and edit are missing
    Route.resource("orders", OrdersController);
    // @ts-expect-error an API has no such action
    Route.api("orders", OrdersController, { only: ["create"] });
    // @ts-expect-error its method takes text
    expect(Route.api("orders", TextController, { only: ["show"] })).toBeInstanceOf(RouteCollection);
  });
});
