// Responses that are created outside the middleware, and whether a front end on another origin can read them.

import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { CorsMiddleware, type Middleware } from "../../http/index.ts";
import { HttpKernel } from "../../kernel/index.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";
import { type Application, createApplication, createLogger } from "../index.ts";

const FRONT_END = "https://app.shop.example";
const OTHER = "https://evil.example";

class Kernel extends HttpKernel {
  override httpMiddleware: (new () => Middleware)[] = [CorsMiddleware];
  override routeMiddleware = { web: [] };
}

/** A response of a custom class, without readable properties. */
function unreadable(): Response {
  return Object.defineProperty(new (class extends Response {})("x"), "status", {
    get() {
      throw new Error("no status");
    },
  });
}

const ROUTES = [
  Route.post("/orders", ({ request }) => request.input("item")).bodyLimit("1kb"),
  Route.get("/seen", ({ request }) => ({ address: request.clientAddress, url: request.raw.url })),
  Route.get("/unreadable", unreadable),
  Route.get("/broken-stream", ({ response }) =>
    response.stream(
      new ReadableStream({
        pull() {
          throw new Error("no first byte");
        },
      }),
      "text/plain",
    ),
  ),
];

function open(trustedOrigins: readonly string[] = [FRONT_END], root?: string): Promise<Application> {
  return createApplication({
    ...(root === undefined ? {} : { root }),
    routes: ROUTES,
    kernel: Kernel,
    logger: createLogger({ name: "Shop", environment: "test", log: { level: "silent", requests: false } }),
    config: { app: { APP: { trustedOrigins, trustedProxies: "private, loopback" } } },
    environment: { APP_ENV: "test", APP_URL: "https://shop.example" },
  });
}

/** Which origin may read a response, and which request headers it varies by. */
const permissionOf = ({ headers }: Response) => [
  headers.get("access-control-allow-origin"),
  headers.get("access-control-allow-credentials"),
  headers.get("vary")?.split(", ").includes("Origin") ?? false,
];
const PERMITTED = [FRONT_END, "true", true];
const REFUSED = [null, null, true];
const BOTH = [
  [FRONT_END, PERMITTED],
  [OTHER, REFUSED],
] as const;

function from(origin: string, path = "/orders", init: RequestInit = {}): Request {
  const headers = { accept: "application/json", ...(init.headers as Record<string, string>), origin };
  return new Request(`https://shop.example${path}`, { ...init, headers });
}

type Ask = (application: Application, origin: string) => Promise<Response>;
const post = (body: string, type = "application/json") => ({ method: "POST", body, headers: { "content-type": type } });

const ANSWERS: readonly [string, number, Ask][] = [
  [
    "the problem of a handler of another framework",
    401,
    async (application, origin) => application.errorResponse(from(origin), new AshlarError("E_UNAUTHENTICATED")),
  ],
  ["its failure", 500, async (application, origin) => application.errorResponse(from(origin), new Error("boom"))],
  [
    "a page about it",
    401,
    async (application, origin) =>
      application.errorResponse(
        from(origin, "/", { headers: { accept: "text/html" } }),
        new AshlarError("E_UNAUTHENTICATED"),
      ),
  ],
  ["/up", 200, async (application, origin) => application.fetch(from(origin, "/up"))],
  ["/ready", 200, async (application, origin) => application.fetch(from(origin, "/ready"))],
  [
    "/ready while it drains",
    503,
    async (application, origin) => {
      application.drain(false);
      return application.fetch(from(origin, "/ready"));
    },
  ],
  ["a path that doesn't exist", 404, async (application, origin) => application.fetch(from(origin, "/nowhere"))],
  [
    "a method that a path doesn't have",
    405,
    async (application, origin) => application.fetch(from(origin, "/orders", { method: "PUT" })),
  ],
  [
    "a body that is too large",
    413,
    async (application, origin) => application.fetch(from(origin, "/orders", post(`{"item":"${"x".repeat(2000)}"}`))),
  ],
  [
    "a body that is malformed",
    400,
    async (application, origin) => application.fetch(from(origin, "/orders", post("{"))),
  ],
  ["a response that can't be read", 500, async (application, origin) => application.fetch(from(origin, "/unreadable"))],
];

describe.each(ANSWERS)("S117 the response to %s", (_, status, ask) => {
  test("S117 can be read by pages of trusted origins, and of no others", async () => {
    for (const [origin, permission] of BOTH) {
      const application = await open();
      const response = await ask(application, origin);
      expect([response.status, permissionOf(response)]).toEqual([status, permission]);
    }
  });

  test("S117 says nothing about origins if none is trusted", async () => {
    const response = await ask(await open([]), FRONT_END);
    expect([response.status, permissionOf(response)]).toEqual([status, [null, null, false]]);
  });
});

test("S117 so can the last resort, if handling an error fails too", async () => {
  const application = await open();
  application.onError(unreadable);
  const response = await application.fetch(from(FRONT_END, "/unreadable"));
  expect([response.status, await response.text(), permissionOf(response)]).toEqual([
    500,
    "Something went wrong.",
    PERMITTED,
  ]);
});

test("S117 an application that has shut down lets pages of trusted origins send their request, and then tells them to retry", async () => {
  const application = await open();
  await application.shutdown();
  const asking = (origin: string) =>
    application.fetch(
      from(origin, "/orders", { method: "OPTIONS", headers: { "access-control-request-method": "POST" } }),
    );
  const preflight = await asking(FRONT_END);
  expect([preflight.status, permissionOf(preflight)]).toEqual([204, PERMITTED]);
  expect(preflight.headers.get("access-control-allow-methods")).toContain("POST");
  expect((await asking(OTHER)).status).toBe(503);
  for (const response of [
    await application.fetch(from(FRONT_END)),
    await application.errorResponse(from(FRONT_END), new Error("boom")),
  ]) {
    expect([response.status, permissionOf(response)]).toEqual([503, PERMITTED]);
    expect(response.headers.get("retry-after")).toBe("5");
    expect(response.headers.get("access-control-expose-headers")).toContain("Retry-After");
  }
});

test("S117 a stream that fails before its first byte becomes an error that pages of trusted origins can read", async () => {
  const application = await open();
  const { url } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  onTestFinished(() => application.shutdown());
  for (const [origin, permission] of BOTH) {
    const response = await fetch(new URL("/broken-stream", url), { headers: { origin } });
    expect([response.status, permissionOf(response)]).toEqual([500, permission]);
    await response.text();
  }
});

test("S117 so is the problem of a handler that has a request of node:http", async () => {
  const application = await open();
  const seen: Promise<Response>[] = [];
  const server = createServer((message: IncomingMessage, response) => {
    seen.push(application.errorResponse(message, new AshlarError("E_UNAUTHENTICATED")));
    response.end();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  for (const origin of [FRONT_END, OTHER])
    await (await fetch(`http://127.0.0.1:${port}/`, { headers: { origin } })).text();
  const [trusted, other] = await Promise.all(seen);
  expect([permissionOf(trusted!), permissionOf(other!)]).toEqual([PERMITTED, REFUSED]);
});

test("S106 files, their parts and their versions say who may read them, so that no cache mixes up origins", async () => {
  const root = await temporaryFolder();
  await mkdir(join(root, "public"));
  await writeFile(join(root, "public/app.js"), "export {};");
  const application = await open([FRONT_END], root);
  const { headers } = await application.fetch(from(FRONT_END, "/app.js"));
  const requests: readonly [number, RequestInit][] = [
    [200, {}],
    [200, { method: "HEAD" }],
    [304, { headers: { "if-none-match": headers.get("etag")! } }],
    [206, { headers: { range: "bytes=0-3" } }],
    [416, { headers: { range: "bytes=100-" } }],
  ];
  for (const [status, init] of requests) {
    for (const [origin, permission] of BOTH) {
      const response = await application.fetch(from(origin, "/app.js", init));
      expect([response.status, permissionOf(response)]).toEqual([status, permission]);
    }
  }
});

test("S118 without the socket's address, what proxies say isn't trusted, even if all of them are trusted", async () => {
  const application = await open([FRONT_END]);
  const headers = { "x-forwarded-for": "6.6.6.6", "x-forwarded-host": "evil.example", "x-forwarded-proto": "https" };
  const response = await application.fetch(new Request("http://shop.example/seen", { headers }));
  expect(await response.json()).toEqual({ address: null, url: "http://shop.example/seen" });
  const known = await application.fetch(new Request("http://shop.example/seen", { headers }), { address: "127.0.0.1" });
  expect(await known.json()).toEqual({ address: "6.6.6.6", url: "https://evil.example/seen" });
});
