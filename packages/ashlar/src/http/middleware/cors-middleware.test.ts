import { describe, expect, test } from "vitest";
import { type ApplicationOptions, createApplication } from "../../boot/application/create-application.ts";
import { createLogger } from "../../boot/log/create-logger.ts";
import { HttpKernel } from "../../kernel/index.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";
import { CorsMiddleware, type HttpContext, IpMiddleware, type Next, originHeaders, TrustedOrigins } from "../index.ts";

const FRONT_END = "https://app.shop.example";
const OTHERS = [
  ...["https://evil.example", "https://shop.example", "http://app.shop.example", "https://app.shop.example:8443"],
  ...["https://app.shop.example.evil.example", "null", "*", "", `${FRONT_END}, https://evil.example`, `${FRONT_END}/`],
];
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** The requests that got past the middleware. */
let reached: string[] = [];

class Kernel extends HttpKernel {
  override httpMiddleware = [CorsMiddleware, IpMiddleware];
  override routeMiddleware = {
    web: [
      (context: HttpContext, next: Next) => {
        reached.push(context.request.raw.method);
        return next();
      },
    ],
    refused: [
      () => {
        throw new AshlarError("E_UNAUTHENTICATED");
      },
    ],
  };
}

const ROUTES = [
  Route.match(["GET", "POST", "PUT", "PATCH", "DELETE"], "/orders", ({ request }) => request.raw.method),
  Route.get("/response", () => new Response("own", { headers: { vary: "Accept-Encoding" } })),
  Route.get("/open", () => new Response("open", { headers: { "access-control-allow-origin": "*", vary: "origin" } })),
  Route.get("/header", ({ response }) =>
    response.header("Access-Control-Allow-Origin", "*").header("Vary", "Accept").text("x"),
  ),
  Route.get("/varies", ({ response }) => response.header("Vary", "*").text("x")),
  Route.get("/boom", () => {
    throw new Error("boom");
  }),
  Route.get("/busy", () => {
    throw new AshlarError("E_OVERLOADED");
  }),
  Route.get("/refused", () => "never").middleware("refused"),
  Route.get("/away", ({ response }) => response.redirect("/orders")),
  Route.options("/own", () => "own options"),
];

function make(options: ApplicationOptions = {}, origins: readonly string[] = [FRONT_END]) {
  reached = [];
  const logger = createLogger({ name: "Shop", environment: "test", log: { level: "silent", requests: false } });
  return createApplication({
    routes: ROUTES,
    kernel: Kernel,
    logger,
    config: { app: { APP: { trustedOrigins: origins } } },
    environment: { APP_ENV: "test", APP_URL: "https://shop.example" },
    ...options,
  });
}

type Headers = Record<string, string>;

async function ask(application: Awaited<ReturnType<typeof make>>, path: string, method: string, headers: Headers) {
  const response = await application.fetch(new Request(`https://shop.example${path}`, { method, headers }));
  const all = [...response.headers].filter(([name]) => name.startsWith("access-control-"));
  return { status: response.status, vary: response.headers.get("vary"), cors: Object.fromEntries(all), response };
}

const PERMISSION = {
  "access-control-allow-origin": FRONT_END,
  "access-control-allow-credentials": "true",
  "access-control-expose-headers":
    "Content-Disposition, Content-Range, ETag, Location, Retry-After, WWW-Authenticate, X-Request-Id",
};

describe("S106 a page of a trusted origin", () => {
  test.each(METHODS)("may send %s, and a preflight request is answered before anything else", async (method) => {
    const application = await make();
    for (const path of ["/orders", "/nowhere", "/refused"]) {
      const headers = {
        origin: FRONT_END,
        "access-control-request-method": method,
        "access-control-request-headers": "content-type,x-csrf-token",
      };
      const { status, vary, cors, response } = await ask(application, path, "OPTIONS", headers);
      expect([status, vary, await response.text()]).toEqual([204, "Origin", ""]);
      expect(cors).toEqual({
        ...PERMISSION,
        "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
        "access-control-allow-headers":
          "Authorization, Content-Type, If-Match, If-None-Match, Range, X-CSRF-TOKEN, X-Request-Id, X-Requested-With, traceparent, tracestate",
        "access-control-max-age": "7200",
      });
      expect(response.headers.has("allow")).toBe(false);
    }
    expect(reached).toEqual([]);
    const { status, cors, vary } = await ask(application, "/orders", method, { origin: FRONT_END });
    expect([status, cors, vary]).toEqual([200, PERMISSION, "Origin"]);
  });

  test.each([
    ["/boom", 500],
    ["/busy", 503],
    ["/refused", 401],
    ["/nowhere", 404],
    ["/away", 302],
  ] as const)("may read unsuccessful responses: %s", async (path, status) => {
    const application = await make();
    const found = await ask(application, path, "GET", { origin: FRONT_END, accept: "application/json" });
    expect([found.status, found.cors]).toEqual([status, PERMISSION]);
    expect(found.vary).toMatch(/(?:^|, )Origin$/);
    expect((await ask(application, "/orders", "OPTIONS", { origin: FRONT_END })).status).toBe(204);
    expect((await ask(application, "/boom", "POST", { origin: FRONT_END })).cors).toEqual(PERMISSION);
  });

  test("may read the application's own error response, and its last resort", async () => {
    const application = await make();
    application.onError(() => new Response("sorry", { status: 500, headers: { vary: "cookie" } }));
    expect(await ask(application, "/boom", "GET", { origin: FRONT_END })).toMatchObject({
      cors: PERMISSION,
      vary: "cookie, Origin",
    });
    application.onError(() => {
      throw new Error("and again");
    });
    expect(await ask(application, "/boom", "GET", { origin: FRONT_END })).toMatchObject({ cors: PERMISSION });
  });

  test("never gets * together with credentials, whatever a handler sets", async () => {
    const application = await make();
    for (const path of ["/open", "/header"]) {
      expect((await ask(application, path, "GET", { origin: FRONT_END })).cors).toEqual(PERMISSION);
      const open = { "access-control-allow-origin": "*" };
      expect((await ask(application, path, "GET", { origin: "https://evil.example" })).cors).toEqual(open);
      expect((await ask(application, path, "GET", {})).cors).toEqual(open);
    }
  });

  test("learns when to retry if the application has shut down", async () => {
    const application = await make();
    await application.shutdown();
    const { status, cors, response } = await ask(application, "/orders", "GET", { origin: FRONT_END });
    expect([status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(cors).toEqual(PERMISSION);
    expect((await ask(application, "/orders", "GET", { origin: "https://evil.example" })).cors).toEqual({});
  });
});

test("only an OPTIONS request with a requested method is a preflight request, and others reach their routes", async () => {
  const application = await make();
  const asking = { origin: FRONT_END, "access-control-request-method": "PUT" };
  const own = await ask(application, "/own", "OPTIONS", { origin: FRONT_END });
  expect([own.status, await own.response.text(), own.cors]).toEqual([200, "own options", PERMISSION]);
  const orders = await ask(application, "/orders", "GET", asking);
  expect([orders.status, await orders.response.text(), orders.cors]).toEqual([200, "GET", PERMISSION]);
  expect((await ask(application, "/own", "OPTIONS", asking)).status).toBe(204);
});

describe("S106 a page of any other origin", () => {
  test.each(OTHERS)("can't read anything: %j", async (origin) => {
    const application = await make();
    for (const path of ["/orders", "/boom", "/nowhere", "/refused"]) {
      const { cors, vary } = await ask(application, path, "GET", { origin });
      expect([path, cors]).toEqual([path, {}]);
      expect(vary).toMatch(/(?:^|, )Origin$/);
    }
    const preflight = { origin, "access-control-request-method": "DELETE" };
    const { status, cors, response } = await ask(application, "/orders", "OPTIONS", preflight);
    expect([status, cors]).toEqual([204, {}]);
    expect(response.headers.get("allow")).toBe("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    expect((await ask(application, "/own", "OPTIONS", preflight)).status).toBe(200);
  });
});

describe("Vary", () => {
  test.each([
    ["/orders", "Origin"],
    ["/response", "Accept-Encoding, Origin"],
    ["/open", "origin"],
    ["/header", "Accept, Origin"],
    ["/varies", "*"],
  ])("S106 names Origin even without one, in addition to the handler's headers: %s", async (path, expected) => {
    expect((await ask(await make(), path, "GET", {})).vary).toBe(expected);
  });

  test("is unchanged if no origin is trusted, and so is everything else", async () => {
    const application = await make({}, []);
    for (const headers of [{}, { origin: FRONT_END }]) {
      expect(await ask(application, "/orders", "GET", headers)).toMatchObject({ cors: {}, vary: null });
    }
  });
});

test("a subclass allows more headers, methods and seconds", async () => {
  class Cors extends CorsMiddleware {
    static override allowedHeaders = [...CorsMiddleware.allowedHeaders, "Idempotency-Key"];
    static override allowedMethods = ["GET"];
    static override exposedHeaders = ["Link"];
    static override maxAgeSeconds = 60;
  }
  class Own extends HttpKernel {
    override httpMiddleware = [Cors];
    override routeMiddleware = { web: [], refused: [] };
  }
  const application = await make({ kernel: Own });
  const { cors } = await ask(application, "/orders", "OPTIONS", {
    origin: FRONT_END,
    "access-control-request-method": "GET",
  });
  expect(cors).toMatchObject({
    "access-control-allow-methods": "GET",
    "access-control-allow-headers": expect.stringMatching(/, Idempotency-Key$/),
    "access-control-expose-headers": "Link",
    "access-control-max-age": "60",
  });
});

describe("S106 each of several trusted origins", () => {
  const OFFICE = "https://office.shop.example";
  const BOTH = [FRONT_END, OFFICE];
  const permissionOf = (origin: string) => ({ ...PERMISSION, "access-control-allow-origin": origin });

  test("is named in the responses to its own pages, whichever sent a request before", async () => {
    const application = await make({}, BOTH);
    for (const origin of [...BOTH, ...BOTH]) {
      for (const path of ["/orders", "/boom", "/nowhere"]) {
        expect((await ask(application, path, "GET", { origin })).cors).toEqual(permissionOf(origin));
      }
      const preflight = await ask(application, "/orders", "OPTIONS", {
        origin,
        "access-control-request-method": "PUT",
      });
      expect(preflight.cors).toMatchObject({ ...permissionOf(origin), "access-control-max-age": "7200" });
    }
    const { cors, vary } = await ask(application, "/orders", "GET", { origin: "https://evil.example" });
    expect([cors, vary]).toEqual([{}, "Origin"]);
  });

  test("is named in responses that no middleware has seen", () => {
    const headers = originHeaders(new CorsMiddleware(), new TrustedOrigins(BOTH));
    for (const origin of [...BOTH, ...BOTH]) {
      expect(headers.of(origin)).toEqual({ ...permissionOf(origin), vary: "Origin" });
      const preflight = { method: "OPTIONS", origin, requestedMethod: "POST" };
      expect(headers.ofPreflight(preflight)).toMatchObject(permissionOf(origin));
    }
    expect(headers.of("https://evil.example")).toEqual({ vary: "Origin" });
  });
});

test("S106 a response that no middleware has seen has the same headers", () => {
  const origins = new TrustedOrigins([FRONT_END]);
  const headers = originHeaders(new CorsMiddleware(), origins);
  expect(headers.of(FRONT_END)).toEqual({ ...PERMISSION, vary: "Origin" });
  for (const origin of [...OTHERS, null]) expect(headers.of(origin)).toEqual({ vary: "Origin" });
  for (const none of [originHeaders(null, origins), originHeaders(new CorsMiddleware(), new TrustedOrigins())]) {
    expect(none.of(FRONT_END)).toEqual({});
  }
});

test("S106 only a preflight request of a trusted origin gets permission if no middleware has given it", async () => {
  const origins = new TrustedOrigins([FRONT_END]);
  const headers = originHeaders(new CorsMiddleware(), origins);
  const preflight = { method: "OPTIONS", origin: FRONT_END, requestedMethod: "POST" };
  const { cors, vary } = await ask(await make(), "/orders", "OPTIONS", {
    origin: FRONT_END,
    "access-control-request-method": "POST",
  });
  expect(headers.ofPreflight(preflight)).toEqual({ ...cors, vary });
  for (const other of [
    { ...preflight, method: "GET" },
    { ...preflight, requestedMethod: null },
    ...[...OTHERS, null].map((origin) => ({ ...preflight, origin })),
  ]) {
    expect(headers.ofPreflight(other)).toBeNull();
  }
});
