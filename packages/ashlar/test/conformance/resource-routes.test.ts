import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Application, createApplication, type HttpContext, Route } from "../../src/public/index.ts";
import { ashlar } from "../support/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Returns the action, the route's name, and the member's id. */
class OrdersController {
  index(context: HttpContext) {
    return told("index", context);
  }

  show(context: HttpContext) {
    return told("show", context);
  }

  store(context: HttpContext) {
    return told("store", context);
  }

  update(context: HttpContext) {
    return told("update", context);
  }

  destroy(context: HttpContext) {
    return told("destroy", context);
  }
}

class PagesController extends OrdersController {
  create(context: HttpContext) {
    return told("create", context);
  }

  edit(context: HttpContext) {
    return told("edit", context);
  }
}

function told(action: string, { request }: HttpContext) {
  return { action, name: request.route()?.name, id: request.param("id") };
}

async function applicationWith(...routes: Parameters<typeof Route.group>[1]): Promise<Application> {
  const application = await createApplication({ routes, environment: { APP_ENV: "test" } });
  onTestFinished(() => application.shutdown());
  return application;
}

async function send(application: Application, method: string, path: string): Promise<unknown> {
  const response = await application.fetch(new Request(`http://localhost${path}`, { method }));
  return response.status === 200 ? await response.json() : response.status;
}

describe("Resource routes", () => {
  test.each([
    ["GET", "/orders", "index", "orders.index", null],
    ["GET", "/orders/7", "show", "orders.show", "7"],
    ["POST", "/orders", "store", "orders.store", null],
    ["PUT", "/orders/7", "update", "orders.update", "7"],
    ["PATCH", "/orders/7", "update", "orders.update", "7"],
    ["DELETE", "/orders/7", "destroy", "orders.destroy", "7"],
  ])("%s %s: action %s, route name %s", async (method, path, action, name, id) => {
    const application = await applicationWith(Route.api("orders", OrdersController));
    expect(await send(application, method, path)).toEqual({ action, name, id });
  });

  test("update handles PUT and PATCH under one name", async () => {
    const { router } = await applicationWith(Route.api("orders", OrdersController));
    expect(router.routes.map(({ name }) => name).sort()).toEqual(
      ["destroy", "index", "show", "store", "update"].map((action) => `orders.${action}`),
    );
    expect(router.to("orders.update", { id: 7 })).toBe("/orders/7");
  });

  test("there are no other routes: no pages with forms, no DELETE of the collection", async () => {
    const application = await applicationWith(Route.api("orders", OrdersController));
    const answers = [
      await send(application, "DELETE", "/orders"),
      await send(application, "POST", "/orders/7"),
      await send(application, "GET", "/orders/7/edit"),
    ];
    expect(answers).toEqual([405, 405, 404]);
  });

  test("Route.resource adds create and edit", async () => {
    const application = await applicationWith(Route.resource("orders", PagesController));
    expect(await send(application, "GET", "/orders/create")).toMatchObject({ action: "create", name: "orders.create" });
    expect(await send(application, "GET", "/orders/7/edit")).toEqual({ action: "edit", name: "orders.edit", id: "7" });
    expect(await send(application, "GET", "/orders/7")).toMatchObject({ action: "show" });
  });

  test("a leading slash in the resource name is tolerated", async () => {
    const application = await applicationWith(Route.api("/orders", OrdersController));
    expect(await send(application, "GET", "/orders/7")).toEqual({ action: "show", name: "orders.show", id: "7" });
  });

  test("the controller command with the flag -a creates index, show, store, update, destroy", async () => {
    const root = await temporaryFolder();
    expect(await ashlar(root, "make:controller", "Orders", "-a")).toMatchObject({ code: 0 });
    const source = await readFile(join(root, "app/controllers/orders-controller.ts"), "utf8");
    const methods = [...source.matchAll(/^ {2}(?:async )?(\w+)\(/gm)].map(([, name]) => name);
    expect(methods).toEqual(["index", "show", "store", "update", "destroy"]);
  });
});
