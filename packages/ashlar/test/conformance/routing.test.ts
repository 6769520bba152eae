import { describe, expect, onTestFinished, test } from "vitest";
import {
  type Application,
  createApplication,
  type HttpContext,
  HttpKernel,
  type Next,
  Route,
  type RouteEntry,
} from "../../src/public/index.ts";

/** Returns the route's pattern and its captured parameters. */
const told = ({ request }: HttpContext) => ({ route: request.route()?.pattern, params: request.params });

async function applicationWith(
  routes: readonly RouteEntry[],
  options: Parameters<typeof createApplication>[0] = {},
): Promise<Application> {
  const application = await createApplication({ routes, environment: { APP_ENV: "test" }, ...options });
  onTestFinished(() => application.shutdown());
  return application;
}

async function respond(application: Application, path: string, method = "GET"): Promise<Response> {
  return await application.fetch(new Request(`http://localhost${path}`, { method }));
}

/** The routes' response to a `GET`: the JSON, or the status if it isn't 200. */
async function get(routes: readonly RouteEntry[], path: string): Promise<unknown> {
  const response = await respond(await applicationWith(routes), path);
  return response.status === 200 ? await response.json() : response.status;
}

/** The error with which an application with these routes fails to boot. */
async function problemWith(...routes: RouteEntry[]): Promise<unknown> {
  return await createApplication({ routes, environment: { APP_ENV: "test" } }).then(
    () => null,
    (error: unknown) => error,
  );
}

describe("Routing", () => {
  test("/home/ for the route /home: found, the same route", async () => {
    const routes = [Route.get("/home", told).name("home")];
    expect(await get(routes, "/home")).toEqual({ route: "/home", params: {} });
    expect(await get(routes, "/home/")).toEqual({ route: "/home", params: {} });
  });

  test("@id: found", async () => {
    expect(await get([Route.get("/home/@id", told)], "/home/1")).toEqual({ route: "/home/@id", params: { id: "1" } });
  });

  test("@id:int with text: 404", async () => {
    const routes = [Route.get("/home/@id:int", told)];
    expect(await get(routes, "/home/1")).toMatchObject({ params: { id: "1" } });
    expect(await get(routes, "/home/one")).toBe(404);
  });

  test("@slug:uuid: checked", async () => {
    const routes = [Route.get("/home/@slug:uuid", told)];
    const slug = crypto.randomUUID();
    expect(await get(routes, `/home/${slug}`)).toMatchObject({ params: { slug } });
    expect(await get(routes, "/home/a-title")).toBe(404);
  });

  test("?id present and absent: the value; null", async () => {
    const routes = [Route.get("/home/?id", ({ request }) => ({ id: request.param("id") }))];
    expect(await get(routes, "/home/1")).toEqual({ id: "1" });
    expect(await get(routes, "/home")).toEqual({ id: null });
    expect(await get(routes, "/home/")).toEqual({ id: null });
  });

  test("/a.b route, path /axb; /home/?id route, path /home1: 404; 404", async () => {
    expect(await get([Route.get("/a.b", told)], "/axb")).toBe(404);
    expect(await get([Route.get("/home/?id", told)], "/home1")).toBe(404);
  });

  test("known path, other method: 405 with Allow", async () => {
    const application = await applicationWith([Route.get("/home", told), Route.put("/home", told)]);
    const response = await respond(application, "/home", "DELETE");
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD, PUT, OPTIONS"]);
  });

  test("OPTIONS: 204 with Allow", async () => {
    const response = await respond(await applicationWith([Route.post("/home", told)]), "/home", "OPTIONS");
    expect([response.status, response.headers.get("allow"), await response.text()]).toEqual([204, "POST, OPTIONS", ""]);
  });

  test("HEAD on a GET route: its headers, no body", async () => {
    const application = await applicationWith([
      Route.get("/home", ({ response }) => response.header("X-Colour", "blue").json({ a: 1 })),
    ]);
    const [head, whole] = [await respond(application, "/home", "HEAD"), await respond(application, "/home")];
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(head.headers.get("x-colour")).toBe("blue");
    expect(head.headers.get("content-type")).toBe(whole.headers.get("content-type"));
  });

  test("HEAD on a POST route: 405", async () => {
    const response = await respond(await applicationWith([Route.post("/home", told)]), "/home", "HEAD");
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  });

  test("__method, only in the body of a POST, only PUT, PATCH, DELETE: the route of that method is used", async () => {
    const application = await applicationWith([
      Route.match(["PATCH", "GET"], "/home", told),
      Route.options("/home", told),
    ]);
    const status = async (method: string, path: string, body: URLSearchParams | null) =>
      (await application.fetch(new Request(`http://localhost${path}`, { method, body }))).status;
    const form = (method: string) => new URLSearchParams({ __method: method });
    expect(await status("POST", "/home", form("PATCH"))).toBe(200);
    expect(await status("POST", "/home?__method=PATCH", null)).toBe(405);
    expect(await status("POST", "/home", form("GET"))).toBe(405);
    expect(await status("POST", "/home", form("OPTIONS"))).toBe(405);
    expect(await status("PUT", "/home", form("PATCH"))).toBe(405);
  });

  test("groups: prefix, name prefix, middleware, nested; withoutMiddleware: outer first", async () => {
    const pass = (name: string) => [
      ({ response }: HttpContext, next: Next, ...args: string[]) => {
        response.appendHeader("x-passed", [name, ...args].join(":"));
        return next();
      },
    ];
    class Kernel extends HttpKernel {
      override routeMiddleware = { web: pass("web"), outer: pass("outer"), inner: pass("inner"), own: pass("own") };
    }
    const routes = [
      Route.group({ prefix: "/admin", name: "admin.", middleware: ["outer"] }, [
        Route.group({ prefix: "/users", name: "users.", middleware: ["inner:x,y"] }, [
          Route.get("/@id", ({ response }) => response.json({}))
            .name("show")
            .middleware("own"),
          Route.get("/", ({ response }) => response.json({}))
            .name("index")
            .withoutMiddleware("web", "outer"),
        ]),
      ]),
    ];
    const application = await applicationWith(routes, { kernel: Kernel });
    const passed = async (path: string) => (await respond(application, path)).headers.get("x-passed");
    expect(await passed("/admin/users/1")).toBe("web, outer, inner:x:y, own");
    expect(await passed("/admin/users")).toBe("inner:x:y");
    expect(application.router.to("admin.users.show", { id: 1 })).toBe("/admin/users/1");
    expect(application.router.to("admin.users.index")).toBe("/admin/users");
  });

  test("URL by name: dictionary in any order, query parameters", async () => {
    const { router } = await applicationWith([
      Route.get("/home/@id", told).name("home"),
      Route.get("/@year/@month", told).name("archive"),
    ]);
    expect(router.to("home", { id: 1 }, { preview: true })).toBe("/home/1?preview=true");
    expect(router.to("archive", { month: "05", year: 2026 })).toBe("/2026/05");
  });

  test("URL by name: missing parameter, unknown name: a clear error", async () => {
    const { router } = await applicationWith([Route.get("/home/@id", told).name("home")]);
    expect(() => router.to("home")).toThrow('The route "home" (/home/@id) needs a value for the parameter "id".');
    expect(() => router.to("hom", { id: 1 })).toThrow('No route is named "hom". Did you mean "home"?');
  });

  test("two routes with one name; two with one method and path: boot error", async () => {
    expect(await problemWith(Route.get("/a", told).name("a"), Route.get("/b", told).name("a"))).toMatchObject({
      code: "E_INVALID_ROUTE",
      message: expect.stringMatching(/routing\.test\.ts:\d+.*two routes are named "a"/s),
    });
    expect(await problemWith(Route.get("/a/@x", told), Route.get("/a/@y", told))).toMatchObject({
      code: "E_INVALID_ROUTE",
      message: expect.stringMatching(/routing\.test\.ts:\d+.*GET \/a\/@y: is never reached/s),
    });
  });

  test("an unknown middleware, and a method that the controller lacks: boot error", async () => {
    expect(await problemWith(Route.get("/a", told).middleware("atuh"))).toMatchObject({
      message: expect.stringMatching(/routing\.test\.ts:\d+.*"atuh"/s),
    });
    class Controller {
      index(_: HttpContext): string {
        return "";
      }
    }
    // @ts-expect-error The compiler knows it first.
    expect(await problemWith(Route.get("/a", [Controller, "show"]))).toMatchObject({
      message: expect.stringMatching(/routing\.test\.ts:\d+.*"?show"?/s),
    });
  });
});
