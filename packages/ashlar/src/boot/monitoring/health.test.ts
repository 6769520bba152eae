import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { HttpKernel } from "../../kernel/index.ts";
import { type HttpContext, type Middleware, type Next, Route } from "../../public/index.ts";
import type { Application } from "../application/application.ts";
import { type ApplicationOptions, createApplication } from "../application/create-application.ts";
import { Provider } from "../application/provider.ts";
import { createLogger } from "../log/create-logger.ts";

type Line = Readonly<Record<string, unknown>>;

/** The error that the checks of {@link StockProvider} throw, or `null` while they pass. */
let failure: Error | null = null;

class StockProvider extends Provider {
  override check(): void {
    if (failure !== null) throw failure;
  }
}

const seen: string[] = [];

class Noting implements Middleware {
  handle(context: HttpContext, next: Next): unknown {
    seen.push(new URL(context.request.raw.url).pathname);
    return next();
  }
}

class Kernel extends HttpKernel {
  override httpMiddleware = [Noting];
  override routeMiddleware = { web: [] };
}

interface Made {
  readonly application: Application;
  readonly lines: Line[];
  /** Sends a request from an address, and returns the response's status and content. */
  readonly ask: (path: string, address?: string, init?: RequestInit) => Promise<readonly [number, unknown]>;
}

async function make(app: Record<string, unknown> = {}, options: ApplicationOptions = {}): Promise<Made> {
  failure = null;
  seen.length = 0;
  const lines: Line[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: true } } as const;
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    config: { app: { APP: { log: { requests: true }, ...app } } },
    logger: createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as Line) }),
    providers: [StockProvider],
    kernel: Kernel,
    ...options,
  });
  onTestFinished(() => application.shutdown());
  const ask: Made["ask"] = async (path, address = "203.0.113.5", init = {}) => {
    const response = await application.fetch(new Request(`http://shop.example${path}`, init), { address });
    const text = await response.text();
    return [response.status, text === "" ? "" : parsed(text)];
  };
  return { application, lines, ask };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

test("/up and /ready respond before any middleware and the request log, without a cookie, for no cache", async () => {
  const { application, lines } = await make();
  for (const [path, content] of [
    ["/up", { status: "up" }],
    ["/ready", { status: "ready" }],
  ] as const) {
    const response = await application.fetch(new Request(`http://shop.example${path}`), { address: "203.0.113.5" });
    expect([response.status, await response.json()]).toEqual([200, content]);
    expect(Object.fromEntries(response.headers)).toEqual({
      "content-type": "application/json",
      "content-length": expect.any(String) as string,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-request-id": expect.any(String) as string,
    });
    const head = await application.fetch(new Request(`http://shop.example${path}`, { method: "HEAD" }));
    expect([head.status, await head.text()]).toEqual([200, ""]);
  }
  expect([seen, lines]).toEqual([[], []]);
});

test("they respond only to GET and HEAD, and only at exactly these paths", async () => {
  const { ask } = await make();
  const statuses = await Promise.all(
    (
      [
        ["/up", { method: "POST" }],
        ["/up/", {}],
        ["/Up", {}],
        ["/ready/x", {}],
      ] as const
    ).map(async ([path, init]) => (await ask(path, undefined, init))[0]),
  );
  expect(statuses).toEqual([404, 404, 404, 404]);
  expect(seen).toHaveLength(4);
});

test("while a check fails, /ready responds with 503, and /up with 200", async () => {
  const { ask, lines } = await make();
  failure = new Error("connect ECONNREFUSED 10.1.2.3:6379");
  expect(await ask("/ready")).toEqual([503, { status: "not ready" }]);
  expect(await ask("/up")).toEqual([200, { status: "up" }]);
  expect(lines.map(({ msg, err }) => [msg, (err as Error).message])).toEqual([
    ["The application is not ready for requests. These checks fail: stock.", "connect ECONNREFUSED 10.1.2.3:6379"],
  ]);
});

test("S76 only loopback clients learn which check failed, and only the log says why", async () => {
  const { ask } = await make();
  failure = new Error("password authentication failed for user shop");
  const details = { status: "not ready", draining: false, checks: { stock: "failed" } };
  expect(await ask("/ready", "127.0.0.1")).toEqual([503, details]);
  expect(await ask("/ready", "::1")).toEqual([503, details]);
  for (const address of ["203.0.113.5", "10.0.0.1", ""]) {
    expect([address, ...(await ask("/ready", address))]).toEqual([address, 503, { status: "not ready" }]);
  }
});

test("S76 a client behind a proxy that isn't listed counts as remote, wherever the proxy is", async () => {
  const { ask } = await make();
  const forwarded = ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded"];
  for (const header of [...forwarded, "x-real-ip", "via", "cf-connecting-ip", "true-client-ip"]) {
    const init = { headers: { [header]: "127.0.0.1" } };
    expect([header, ...(await ask("/ready", "127.0.0.1", init))]).toEqual([header, 200, { status: "ready" }]);
  }
});

test("S76 behind a listed proxy, the client's address decides", async () => {
  const { ask } = await make({ trustedProxies: ["127.0.0.1"], server: { health: { details: ["192.0.2.7"] } } });
  const via = async (client: string) =>
    (await ask("/ready", "127.0.0.1", { headers: { "x-forwarded-for": client } }))[1];
  expect(await via("203.0.113.5")).toEqual({ status: "ready" });
  expect(await via("127.0.0.1")).toEqual({ status: "ready" });
  expect(await via("192.0.2.7")).toEqual({ status: "ready", draining: false, checks: { stock: "ok" } });
});

test("an application that is about to shut down isn't ready, and runs no more checks", async () => {
  const { application, ask } = await make();
  application.drain(false);
  failure = new Error("not asked");
  expect(await ask("/ready", "127.0.0.1")).toEqual([503, { status: "not ready", draining: true, checks: {} }]);
  expect(await ask("/up")).toEqual([200, { status: "up" }]);
});

test("a process that is being replaced stays ready, because its address does", async () => {
  const { application, ask } = await make();
  application.drain(true);
  expect(application.isDraining).toBe(true);
  expect(await ask("/ready")).toEqual([200, { status: "ready" }]);
});

test("both paths can be moved, and turned off", async () => {
  const moved = await make({ server: { health: { up: "/health/live", ready: false } } });
  expect([await moved.ask("/health/live"), (await moved.ask("/up"))[0], (await moved.ask("/ready"))[0]]).toEqual([
    [200, { status: "up" }],
    404,
    404,
  ]);
  const off = await make({ server: { health: false } });
  expect([(await off.ask("/up"))[0], (await off.ask("/ready"))[0]]).toEqual([404, 404]);
});

test("an application's own route with a default path takes precedence, but not a pattern that fits it too", async () => {
  const { ask } = await make({}, { routes: [Route.get("/up", () => "mine"), Route.get("/@page", () => "a page")] });
  expect(await ask("/up")).toEqual([200, "mine"]);
  expect(await ask("/ready")).toEqual([200, { status: "ready" }]);
  expect(await ask("/about")).toEqual([200, "a page"]);
});

test("a route with a path that the configuration chose fails startup", async () => {
  const routes = [Route.get("/health", () => "mine")];
  const made = make({ server: { health: { ready: "/health" } } }, { routes });
  await expect(made).rejects.toThrow(
    /^config\/app\.ts: APP\.server\.health\.ready: is \/health, which is also the path of a route \(.+\)\. Choose another path/,
  );
});

test.each([
  [{ up: "/x", ready: "/x" }, "APP.server.health.ready: is the same path as up."],
  [{ up: "up" }, 'APP.server.health.up: is text. Write a path, such as "/up", or false'],
  [{ details: ["everyone"] }, 'APP.server.health.details: names "everyone", which is neither an address nor a range.'],
  [{ live: "/x" }, "APP.server.health.live: is not a known setting."],
  [true, "APP.server.health: is a boolean."],
])("wrong settings fail startup with what to write: %o", async (health, message) => {
  await expect(make({ server: { health } })).rejects.toThrow(`config/app.ts: ${message}`);
});

test("S63 in production over https, they have Strict-Transport-Security like all responses", async () => {
  const application = await createApplication({
    environment: { APP_ENV: "production", APP_URL: "https://shop.example", APP_KEY: randomBytes(32).toString("hex") },
    logger: createLogger({ name: "Shop", environment: "production", log: { level: "silent", requests: false } }),
  });
  onTestFinished(() => application.shutdown());
  const response = await application.fetch(new Request("https://shop.example/ready"));
  expect(response.headers.get("strict-transport-security")).toBe("max-age=31536000");
});

test("S80 health responses carry the request's id, or a new one", async () => {
  const { application } = await make();
  for (const path of ["/up", "/ready"]) {
    const ask = async (headers: Record<string, string>) => {
      const response = await application.fetch(new Request(`http://shop.example${path}`, { headers }));
      return response.headers.get("x-request-id");
    };
    expect(await ask({ "x-request-id": "probe-7" })).toBe("probe-7");
    expect(await ask({})).toMatch(/^[0-9a-f-]{36}$/);
    expect(await ask({ "x-request-id": "a line\tbreak" })).toMatch(/^[0-9a-f-]{36}$/);
  }
});
