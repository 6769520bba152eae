import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { Counter, Gauge } from "prom-client";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../test/support/free-port.ts";
import { type LoggedLine, loggerInto } from "../../test/support/redis-application.ts";
import { createApplication } from "../boot/index.ts";
import { EventProvider } from "../events/index.ts";
import { Route } from "../routing/index.ts";
import { generateSecret } from "../security/index.ts";
import { ERRORS } from "../support/index.ts";
import { METRIC_NAMES } from "./families.ts";
import { MetricsProvider } from "./metrics-provider.ts";

const TOKEN = generateSecret();

async function make(metrics: object, options: Partial<Parameters<typeof createApplication>[0]> = {}) {
  const made: MetricsProvider[] = [];
  class Metrics extends MetricsProvider {
    constructor(...given: ConstructorParameters<typeof MetricsProvider>) {
      super(...given);
      made.push(this);
    }
  }
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    providers: [EventProvider, Metrics],
    config: { metrics: { METRICS: metrics } },
    routes: [
      Route.get("/orders/@id:int", ({ request }) => ({ id: request.param("id") })),
      Route.post("/orders", () => undefined),
    ],
    ...options,
  });
  onTestFinished(() => application.shutdown());
  const visit = async (path: string, init: RequestInit = {}) => {
    const response = await application.fetch(new Request(`http://localhost${path}`, init));
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { application, visit, port: () => made[0]!.port };
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** A metric's values, by their labels as written in the text. */
function valuesOf(text: string, name: string): Record<string, number> {
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice(name.length, line.lastIndexOf(" ")),
      Number(line.slice(line.lastIndexOf(" ") + 1)),
    ]),
  );
}

describe("at a path", () => {
  test("the metrics have the requests by route, and no more labels than routes, whatever clients ask for", async () => {
    const { visit } = await make({ path: "/metrics", token: TOKEN });
    for (let count = 1; count <= 20; count++) {
      await visit(`/orders/${count}`);
      await visit(`/made-up-${count}`, { method: `M${count}` });
    }
    const { status, headers, text } = await visit("/metrics", bearer(TOKEN));
    expect([status, headers.get("content-type")]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
    expect(valuesOf(text, "ashlar_http_requests_total")).toEqual({
      '{method="GET",route="/orders/@id:int",status="2xx"}': 20,
      '{method="none",route="none",status="4xx"}': 20,
    });
    const buckets = valuesOf(text, "ashlar_http_request_duration_seconds_bucket");
    const label = (le: string) => `{le="${le}",method="GET",route="/orders/@id:int"}`;
    expect(Object.keys(buckets)).toHaveLength(2 * 14);
    expect(buckets[label("+Inf")]).toBe(20);
    expect(buckets[label("10")]).toBeGreaterThanOrEqual(buckets[label("0.001")]!);
    expect(Object.values(valuesOf(text, "ashlar_http_request_duration_seconds_count"))).toEqual([20, 20]);
  });

  test("errors are counted by code, and each declared code is present from the start", async () => {
    const { visit } = await make({ path: "/metrics", token: TOKEN });
    const counts = async () => valuesOf((await visit("/metrics", bearer(TOKEN))).text, "ashlar_errors_total");
    const declared = Object.fromEntries(
      Object.entries(ERRORS).map(([code, [status]]) => [`{code="${code}",status="${status}"}`, 0]),
    );
    expect(await counts()).toEqual(declared);
    await visit("/nowhere");
    await visit("/orders", { method: "DELETE" });
    await visit("/orders", { method: "PATCH" });
    expect(await counts()).toEqual({
      ...declared,
      '{code="E_NOT_FOUND",status="404"}': 1,
      '{code="E_METHOD_NOT_ALLOWED",status="405"}': 2,
    });
  });

  test("every metric has its help and type, and no metric's name occurs twice", async () => {
    const { visit } = await make({ path: "/metrics", token: TOKEN });
    const { text } = await visit("/metrics", bearer(TOKEN));
    const declared = [...text.matchAll(/^# TYPE (\S+) (?:counter|gauge|histogram)$/gm)].map(([, name]) => name);
    expect(declared).toEqual(METRIC_NAMES);
    expect(text.match(/^# HELP /gm)).toHaveLength(METRIC_NAMES.length);
  });

  test("a metric of the application is shown as well", async () => {
    const { application, visit } = await make({ path: "/metrics", token: TOKEN });
    const registers = [application.container.make("metrics")];
    new Counter({ name: "shop_orders_total", help: "Orders.", labelNames: ["kind"], registers }).inc(
      { kind: "gift" },
      3,
    );
    const { text } = await visit("/metrics", bearer(TOKEN));
    expect(valuesOf(text, "shop_orders_total")).toEqual({ '{kind="gift"}': 3 });
  });

  test("S82 only the complete token gives access", async () => {
    const { visit } = await make({ path: "/ops/metrics", token: TOKEN });
    for (const headers of [{}, { authorization: TOKEN }, { authorization: "Bearer" }, { authorization: "Bearer " }]) {
      expect(await visit("/ops/metrics", { headers })).toMatchObject({ status: 401, text: "Unauthorized\n" });
    }
    for (const token of [TOKEN.slice(0, -1), `${TOKEN}x`, TOKEN.toUpperCase(), "x"]) {
      const { status, headers } = await visit("/ops/metrics", bearer(token));
      expect([status, headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    }
    expect((await visit(`/ops/metrics?token=${TOKEN}`)).status).toBe(401);
    expect((await visit("/ops/metrics", { ...bearer(TOKEN), method: "POST" })).status).toBe(405);
    expect((await visit("/ops/metrics/more", bearer(TOKEN))).status).toBe(404);
    const { status, headers } = await visit("/ops/metrics", bearer(TOKEN));
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
  });
});

/** Sends a request head that no HTTP client would send, and returns the response as text. */
async function written(port: number, head: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.end(`${head}\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  return await text(socket);
}

describe("a response", () => {
  test("to HEAD has no body, and a response to another method says which are allowed", async () => {
    const { visit } = await make({ path: "/metrics", token: TOKEN });
    const head = await visit("/metrics", { ...bearer(TOKEN), method: "HEAD" });
    expect([head.status, head.text, head.headers.get("content-type")]).toEqual([
      200,
      "",
      "text/plain; version=0.0.4; charset=utf-8",
    ]);
    const refused = await visit("/metrics", { ...bearer(TOKEN), method: "DELETE" });
    expect([refused.status, refused.text, refused.headers.get("allow")]).toEqual([
      405,
      "Method not allowed\n",
      "GET, HEAD",
    ]);
  });

  test("S82 is never cached, and never sniffed as another type, whatever it is", async () => {
    const { visit } = await make({ path: "/metrics", token: TOKEN });
    const answers = [
      await visit("/metrics", bearer(TOKEN)),
      await visit("/metrics"),
      await visit("/metrics/more", bearer(TOKEN)),
      await visit("/metrics", { ...bearer(TOKEN), method: "POST" }),
    ];
    expect(
      answers.map(({ status, headers }) => [
        status,
        ...["cache-control", "x-content-type-options", "content-type"].map((name) => headers.get(name)),
      ]),
    ).toEqual([
      [200, "no-store", "nosniff", "text/plain; version=0.0.4; charset=utf-8"],
      ...[401, 404, 405].map((status) => [status, "no-store", "nosniff", "text/plain"]),
    ]);
  });

  test("S82 to an unauthorized client is the same for every method", async () => {
    const { visit } = await make({ path: "/metrics", token: TOKEN });
    for (const method of ["GET", "HEAD", "POST", "DELETE"])
      expect((await visit("/metrics", { method })).status).toBe(401);
  });
});

describe("at a separate port", () => {
  const listen = { port: 0, hostname: "127.0.0.1", handleSignals: false };

  test("the metrics are there once the application listens, and gone when it has shut down", async () => {
    const { application, port } = await make({ port: 0 });
    expect(port()).toBe(null);
    await application.listen(listen);
    const url = `http://127.0.0.1:${port()}`;
    const response = await fetch(`${url}/metrics`);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("ashlar_uptime_seconds ")]);
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`, { method: "HEAD" })).status).toBe(200);
    expect((await fetch(`${url}/metrics`, { method: "DELETE" })).status).toBe(405);
    await application.shutdown();
    await expect(fetch(`${url}/metrics`)).rejects.toThrow("fetch failed");
  });

  test("S82 the application itself does not show them, and a token is required if there is one", async () => {
    const { application, visit, port } = await make({ port: 0, token: TOKEN });
    await application.listen(listen);
    expect((await visit("/metrics", bearer(TOKEN))).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${port()}/metrics`)).status).toBe(401);
    expect((await fetch(`http://127.0.0.1:${port()}/metrics`, bearer(TOKEN))).status).toBe(200);
  });

  test("each instance on a machine has its own port: the application's + 10,000", async () => {
    for (const applicationPort of [await freePort(10_000), await freePort(10_000)]) {
      const { application, port } = await make({});
      await application.listen({ ...listen, port: applicationPort });
      expect(port()).toBe(applicationPort + 10_000);
      expect((await fetch(`http://127.0.0.1:${port()}/metrics`)).status).toBe(200);
    }
  });

  test("a port that is in use makes startup fail, with a remedy", async () => {
    const first = await make({ port: 0 });
    await first.application.listen(listen);
    const second = await make({ port: first.port() });
    await expect(second.application.listen(listen)).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: `config/metrics.ts: METRICS.port: another program is using 127.0.0.1:${first.port()}. Choose another port, one for each instance on this machine, or set path and token.`,
    });
  });

  test("an address that this machine doesn't have makes startup fail with the system's error", async () => {
    const { application } = await make({ port: 0, hostname: "192.0.2.1", token: TOKEN });
    await expect(application.listen(listen)).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining("METRICS.port: cannot be used: 192.0.2.1:0 reports EADDRNOTAVAIL."),
    });
  });

  test("metrics that can't be read cause a response without details, and a log line", async () => {
    const lines: LoggedLine[] = [];
    const { application, port } = await make({ port: 0 }, { logger: loggerInto(lines) });
    await application.listen(listen);
    const registers = [application.container.make("metrics")];
    const collect = () => {
      throw new Error("no stock");
    };
    new Gauge({ name: "shop_stock", help: "Stock.", registers, collect });
    const response = await fetch(`http://127.0.0.1:${port()}/metrics`);
    expect([response.status, await response.text()]).toEqual([500, ""]);
    expect(lines.filter(({ msg }) => msg === "The metrics could not be read.")).toMatchObject([
      { level: "error", err: { message: "no stock" } },
    ]);
  });

  test("S82 a request that is not a scraper's is refused, and the next one gets a response", async () => {
    const lines: LoggedLine[] = [];
    const { application, port } = await make({ port: 0 }, { logger: loggerInto(lines) });
    await application.listen(listen);
    for (const head of ["TRACE /metrics HTTP/1.1", "GET http:// HTTP/1.1"]) {
      expect(await written(port()!, head), head).toMatch(/^HTTP\/1\.1 400 /);
    }
    expect(await written(port()!, "GET /metrics HTTP/1.1")).toMatch(/^HTTP\/1\.1 200 [\s\S]*ashlar_uptime_seconds /);
    expect(lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  test.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::1", "[::1]"],
  ])("the log says where the metrics are: %s", async (hostname, written) => {
    const lines: LoggedLine[] = [];
    const environment = { APP_ENV: "production", APP_KEY: generateSecret(), APP_URL: "http://localhost" };
    const { application, port } = await make({ port: 0, hostname }, { environment, logger: loggerInto(lines) });
    await application.listen(listen);
    const url = `http://${written}:${port()}/metrics`;
    expect(lines.filter(({ msg }) => msg.startsWith("Metrics"))).toMatchObject([{ url, msg: `Metrics are at ${url}` }]);
  });
});
