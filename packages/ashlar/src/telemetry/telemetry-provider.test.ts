import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { expect, onTestFinished, test } from "vitest";
import { recordSpans } from "../../test/support/span-recording.ts";
import { PASSWORD, testWeb } from "../../test/support/web-application.ts";
import { createApplication, Inspection, Provider } from "../boot/index.ts";
import type { HttpContext } from "../http/index.ts";
import { Route } from "../routing/index.ts";
import { traceChannels } from "../support/index.ts";
import { TelemetryProvider } from "./index.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;

const exporter = recordSpans();

const ROUTES = [
  Route.get("/orders/@id:int", async ({ request }: HttpContext) => {
    await null;
    // Other libraries create spans in this way.
    trace.getTracer("shop").startSpan("stock").end();
    return { id: request.param("id") };
  }),
  Route.get("/quick", () => "quick"),
  Route.get("/reset/@token", () => "page"),
  Route.get("/broken", () => {
    throw new Error("secret text");
  }),
];

async function make(environment: Readonly<Record<string, string>> = {}) {
  const application = await createApplication({
    environment: { APP_ENV: "test", ...environment },
    config: { app: { APP: { name: "Shop" } } },
    providers: [TelemetryProvider],
    routes: ROUTES,
  });
  onTestFinished(() => application.shutdown());
  const ask = async (path: string, headers: Record<string, string> = {}, method = "GET") => {
    const response = await application.fetch(new Request(`http://localhost${path}`, { headers, method }), {
      address: "203.0.113.7",
    });
    await response.text();
  };
  return { application, ask };
}

/** The members of finished spans that the tests compare. */
function spans() {
  return exporter.getFinishedSpans().map(({ name, kind, attributes, status }) => ({
    name,
    kind,
    attributes,
    ...(status.code === SpanStatusCode.UNSET ? {} : { status: status.code }),
  }));
}

const named = (name: string): ReadableSpan => exporter.getFinishedSpans().find((span) => span.name === name)!;

test("a request is a server span, named by its route, and active in the handler", async () => {
  const { ask } = await make();
  await ask("/orders/7", { "x-request-id": "abc" });
  expect(spans()).toEqual([
    { name: "stock", kind: SpanKind.INTERNAL, attributes: {} },
    {
      name: "GET /orders/@id:int",
      kind: SpanKind.SERVER,
      attributes: {
        "http.request.method": "GET",
        "url.scheme": "http",
        "http.route": "/orders/@id:int",
        "url.path": "/orders/7",
        "http.response.status_code": 200,
        "ashlar.request.id": "abc",
      },
    },
  ]);
  const [stock, request] = exporter.getFinishedSpans();
  expect(stock!.parentSpanContext?.spanId).toBe(request!.spanContext().spanId);
});

test("only the server's faults are errors, without their message, and an unknown method is not an attribute", async () => {
  const { ask } = await make();
  await ask("/broken");
  await ask("/nowhere/x", {}, "BREW");
  const [broken, missing] = spans();
  expect([broken!.status, broken!.attributes["error.type"]]).toEqual([SpanStatusCode.ERROR, "500"]);
  expect(missing).toMatchObject({ name: "HTTP", attributes: { "http.request.method": "_OTHER" } });
  expect([missing!.status, missing!.attributes["http.route"]]).toEqual([undefined, undefined]);
  expect(JSON.stringify(spans())).not.toContain("secret text");
});

test("S83 a span contains no secret from the path", async () => {
  const { ask } = await make();
  await ask("/reset/Zk3vB8s_Q1xLw0TyR5nHc7uJ2mEoA9dGfKiP6bVzX4t?code=98765");
  expect(spans()[0]).toMatchObject({ attributes: { "url.path": "/reset/@token" } });
  expect(JSON.stringify(spans())).not.toMatch(/Zk3vB8s|98765/);
});

test("a request continues the trace that it was sent with", async () => {
  const { ask } = await make();
  await ask("/quick", { traceparent: TRACEPARENT });
  const request = named("GET /quick");
  expect([request.spanContext().traceId, request.parentSpanContext?.spanId]).toEqual([TRACE, PARENT]);
});

test("S83 with trusted proxies, only the trace from one of them is continued", async () => {
  const { ask } = await make({ TRUSTED_PROXIES: "10.0.0.1" });
  await ask("/quick", { traceparent: TRACEPARENT });
  expect(named("GET /quick").spanContext().traceId).not.toBe(TRACE);
  expect(named("GET /quick").parentSpanContext).toBe(undefined);
});

test("S83 statements and hashes are children of their request, without values", async () => {
  const web = await testWeb({ providers: [TelemetryProvider] });
  await web.browser().post("/login", { email: "ada@example.com", password: PASSWORD });
  const request = named("POST /login");
  const children = exporter
    .getFinishedSpans()
    .filter(({ parentSpanContext }) => parentSpanContext?.spanId === request.spanContext().spanId);
  const hash = children.find(({ name }) => name === "password verify");
  expect([hash?.kind, hash?.attributes]).toEqual([SpanKind.INTERNAL, {}]);
  const select = children.find(({ name }) => name === "SELECT")!;
  expect(select.kind).toBe(SpanKind.CLIENT);
  expect(select.attributes).toEqual({
    "db.system.name": "sqlite",
    "db.query.text": expect.stringMatching(/^select .*"email" = \?/),
    "db.operation.name": "SELECT",
    "ashlar.connection": "main",
  });
  expect(children.map(({ name }) => name)).toContain("INSERT");
  // These are all the spans. Each has ended, and belongs to the request.
  expect(exporter.getFinishedSpans().filter((span) => span !== request)).toEqual(children);
  expect(JSON.stringify(spans())).not.toMatch(/ada@example|correct horse/);
});

test("after a shutdown, nothing is traced", async () => {
  const [one, other] = [await make(), await make()];
  await one.ask("/quick");
  // There is only one span, although two applications trace.
  expect(spans()).toHaveLength(1);
  await one.application.shutdown();
  await other.ask("/quick");
  expect(spans()).toHaveLength(2);
  await other.application.shutdown();
  const untraced = await createApplication({ environment: { APP_ENV: "test" }, routes: ROUTES });
  onTestFinished(() => untraced.shutdown());
  await untraced.fetch(new Request("http://localhost/quick"));
  expect(spans()).toHaveLength(2);
});

test("an application that is only inspected traces nothing, and its end doesn't end the tracing of another", async () => {
  const before = traceChannels.request.hasSubscribers;
  const inspected = await new Inspection().run(() =>
    createApplication({ environment: { APP_ENV: "test" }, providers: [TelemetryProvider], routes: ROUTES }),
  );
  expect([before, traceChannels.request.hasSubscribers]).toEqual([false, false]);
  const { ask } = await make();
  await inspected.shutdown();
  await ask("/quick");
  expect(spans()).toHaveLength(1);
});

test("an application whose boot ends before it traces doesn't end the tracing of another", async () => {
  const { ask } = await make();
  class Broken extends Provider {
    override boot(): void {
      throw new Error("no");
    }
  }
  const options = { environment: { APP_ENV: "test" }, providers: [Broken, TelemetryProvider], routes: ROUTES };
  await expect(createApplication(options)).rejects.toThrow("no");
  await ask("/quick");
  expect(spans()).toHaveLength(1);
});
