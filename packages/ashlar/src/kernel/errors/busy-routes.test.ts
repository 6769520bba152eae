import { expect, onTestFinished, test } from "vitest";
import { createApplication } from "../../boot/index.ts";
import { CorsMiddleware, type RouteInfo } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { RefusedError } from "../../support/index.ts";
import { HttpKernel } from "../pipeline/http-kernel.ts";
import { BusyRoutes } from "./busy-routes.ts";

class Kernel extends HttpKernel {
  override httpMiddleware = [CorsMiddleware];
  override routeMiddleware = { web: [], api: [] };
}

/** An application whose handlers refuse requests with an overload error while the test wants them to. */
async function shop() {
  const handled: string[] = [];
  const state = { isBusy: true };
  const refuse = (name: string, stands?: () => boolean) => {
    handled.push(name);
    if (!state.isBusy) return "done";
    throw RefusedError.of("Too many.", { why: "Too many.", bindings: {}, waitedMs: 3, ...(stands && { stands }) });
  };
  const stands = () => state.isBusy;
  const application = await createApplication({
    kernel: Kernel,
    environment: { APP_ENV: "test" },
    config: { app: { APP: { name: "Shop", trustedOrigins: ["https://app.example"] } } },
    routes: [
      Route.get("/orders/@id", () => refuse("orders", stands)),
      Route.post("/orders/@id", () => refuse("order", stands)),
      Route.get("/prices", () => refuse("prices")),
      Route.get("/about", () => {
        handled.push("about");
        return "done";
      }),
      ...Route.group({ prefix: "/api" }, [Route.get("/carts", () => refuse("carts", stands))]),
    ],
  });
  onTestFinished(() => application.shutdown());
  const ask = (path: string, headers: Record<string, string> = {}, method = "GET") => {
    return application.fetch(new Request(`http://localhost${path}`, { method, headers }));
  };
  const statuses = async (paths: readonly string[], headers?: Record<string, string>): Promise<number[]> => {
    const all: number[] = [];
    for (const path of paths) all.push((await ask(path, headers)).status);
    return all;
  };
  return { application, handled, state, ask, statuses };
}

test("S150 once one of a route's requests was refused, others are refused before any work, until there is capacity again", async () => {
  const { application, handled, state, statuses } = await shop();
  expect(await statuses(["/orders/1", "/orders/2", "/orders/3", "/about"])).toEqual([503, 503, 503, 200]);
  expect(handled).toEqual(["orders", "about"]);
  // Every refusal is counted.
  expect(application.stats().errors).toEqual({ E_OVERLOADED: 3 });
  state.isBusy = false;
  expect(await statuses(["/orders/4", "/orders/5"])).toEqual([200, 200]);
  state.isBusy = true;
  expect(await statuses(["/orders/6", "/orders/7"])).toEqual([503, 503]);
  expect(handled).toEqual(["orders", "about", "orders", "orders", "orders"]);
});

test.each([{ cookie: "a=b" }, { authorization: "Bearer a" }])(
  "S150 requests without credentials don't suffer for those with them: %o",
  async (credentials) => {
    const { handled, statuses } = await shop();
    expect(await statuses(["/orders/1", "/orders/2"], credentials)).toEqual([503, 503]);
    expect(handled).toEqual(["orders"]);
    expect(await statuses(["/orders/3", "/orders/4"])).toEqual([503, 503]);
    expect(handled).toEqual(["orders", "orders"]);
  },
);

test("S150 a form from a visitor with a session is left to the middleware, and an API client's request is not", async () => {
  const { ask, handled } = await shop();
  const post = (headers: Record<string, string>) => ask("/orders/1", headers, "POST");
  for (const headers of [{ cookie: "a=b" }, { authorization: "Bearer a" }] as const) {
    for (let count = 0; count < 2; count++) expect((await post(headers)).status).toBe(503);
  }
  expect(handled).toEqual(["order", "order"]);
  await post({ cookie: "a=b" });
  expect(handled).toEqual(["order", "order", "order"]);
});

test("a refusal that can't tell whether there is capacity again stops no other request", async () => {
  const { handled, statuses } = await shop();
  expect(await statuses(["/prices", "/prices"])).toEqual([503, 503]);
  expect(handled).toEqual(["prices", "prices"]);
});

test("S150 a request refused before its work gets the same response as one refused during it", async () => {
  const { ask, handled } = await shop();
  const seen = async (path: string, headers: Record<string, string>) => {
    const response = await ask(path, headers);
    const all = Object.fromEntries(response.headers);
    delete all["x-request-id"];
    return [response.status, all, await response.text()];
  };
  for (const [path, accept] of [
    ["/orders/1", "text/html"],
    ["/orders/1", "application/json"],
    ["/api/carts", "*/*"],
  ] as const) {
    const headers = { accept, origin: "https://app.example", "accept-language": "de" };
    expect(await seen(path, headers)).toEqual(await seen(path, headers));
    const [, all] = (await seen(path, headers)) as [number, Record<string, string>];
    expect(all).toMatchObject({
      "retry-after": expect.any(String),
      "access-control-allow-origin": "https://app.example",
    });
  }
  expect(handled).toEqual(["orders", "carts"]);
});

test.each([{}, { cookie: "a=b" }])(
  "S150 an early refusal is like the first one, but has not waited: %o",
  async (headers) => {
    const routes = new BusyRoutes();
    const raw = new Request("http://localhost/orders", { headers });
    const route = { name: "orders" } as RouteInfo;
    let isBusy = true;
    const refusal = { why: "Too few.", bindings: { connection: "main" }, waitedMs: 300, stands: () => isBusy };
    expect([routes.areNone, routes.errorOf(route, raw)]).toEqual([true, null]);
    routes.refused(route, raw, RefusedError.of("Too many.", refusal));
    expect(routes.areNone).toBe(false);
    const early = routes.errorOf(route, raw)!;
    expect([early.message, early.refusal]).toEqual(["Too many.", { ...refusal, waitedMs: 0 }]);
    isBusy = false;
    expect([routes.errorOf(route, raw), routes.areNone]).toEqual([null, true]);
  },
);
