import { expect, test } from "vitest";
import { createApplication } from "../../boot/application/create-application.ts";
import { Provider } from "../../boot/application/provider.ts";
import type { HttpContext, Next } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { HttpKernel } from "./http-kernel.ts";

const ENVIRONMENT = { APP_ENV: "test" };

/** A custom page renderer. */
class Pages extends Provider {
  override register(): void {
    this.application.container.bind("routes.view", async ({ request }, template, data) => {
      return `<h1>${template} ${JSON.stringify(data)} ${request.getPath()}</h1>`;
    });
  }
}

test("Route.view is rendered by the service bound as routes.view", async () => {
  const application = await createApplication({
    environment: ENVIRONMENT,
    providers: [Pages],
    routes: [Route.view("/about", "pages/about", { title: "About" })],
  });
  const response = await application.fetch(new Request("http://localhost/about"));
  expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([
    200,
    "text/html; charset=utf-8",
    '<h1>pages/about {"title":"About"} /about</h1>',
  ]);
});

test("a redirect keeps headers and cookies that middleware has set", async () => {
  class Kernel extends HttpKernel {
    override routeMiddleware = {
      web: [
        (context: HttpContext, next: Next) => {
          context.response.cookie("seen", "yes");
          return next();
        },
      ],
    };
  }
  const application = await createApplication({
    environment: ENVIRONMENT,
    kernel: Kernel,
    routes: [Route.redirect("/a", "/b", 301)],
  });
  const response = await application.fetch(new Request("http://localhost/a"));
  expect([response.status, response.headers.get("location"), response.headers.getSetCookie().length]).toEqual([
    301,
    "/b",
    1,
  ]);
});

test("middleware runs in this order: stack, group, inner group, route; withoutMiddleware removes an entry", async () => {
  const seen: string[] = [];
  const named = (name: string) => [
    (_: HttpContext, next: Next, ...args: string[]) => {
      seen.push([name, ...args].join(":"));
      return next();
    },
  ];
  class Kernel extends HttpKernel {
    override httpMiddleware = named("http");
    override routeMiddleware = {
      web: [...named("web1"), ...named("web2")],
      a: named("a"),
      b: named("b"),
      c: named("c"),
      gone: named("gone"),
    };
  }
  const application = await createApplication({
    environment: ENVIRONMENT,
    kernel: Kernel,
    routes: [
      Route.group({ prefix: "/outer", middleware: ["a", "gone"] }, [
        Route.group({ prefix: "/inner", middleware: ["b:x,y"] }, [
          Route.get("/@id", () => "answer")
            .middleware("c:@id")
            .withoutMiddleware("gone"),
        ]),
      ]),
    ],
  });
  const response = await application.fetch(new Request("http://localhost/outer/inner/7"));
  expect(await response.text()).toBe("answer");
  expect(seen).toEqual(["http", "web1", "web2", "a", "b:x:y", "c:7"]);
});

test("a value that middleware returns becomes a response, as a handler's does", async () => {
  class Kernel extends HttpKernel {
    override routeMiddleware = { web: [() => ({ stopped: true })] };
  }
  const application = await createApplication({
    environment: ENVIRONMENT,
    kernel: Kernel,
    routes: [Route.get("/", () => "no")],
  });
  const response = await application.fetch(new Request("http://localhost/"));
  expect(await response.json()).toEqual({ stopped: true });
});
