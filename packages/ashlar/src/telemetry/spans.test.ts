import * as api from "@opentelemetry/api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { recordSpans } from "../../test/support/span-recording.ts";
import { type TracedMail, type TracedRequest, traceChannels, traced } from "../support/index.ts";
import { Spans } from "./spans.ts";

const { SpanKind, SpanStatusCode } = api;
const { ERROR } = SpanStatusCode;
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`;

const exporter = recordSpans();
const spans = new Spans(api);
beforeAll(() => spans.start());
afterAll(() => spans.stop());

const finished = () => exporter.getFinishedSpans();
const outer = () => api.trace.getTracer("shop").startSpan("outer");

/** Runs a function as a request would: inside a span. */
const inside = <T>(span: api.Span, run: () => T): T =>
  api.context.with(api.trace.setSpan(api.context.active(), span), run);

const SELECT = { connection: "main", dialect: "sqlite", sql: "select 1" };

/** The span of a statement that runs in a request. */
async function query(message: object, work: () => unknown = () => []) {
  const sent = () => traced(traceChannels.query, { ...SELECT, ...message }, work);
  await inside(outer(), async () => sent()).catch(() => {});
  expect(finished()).toHaveLength(1);
  const [{ name, attributes, status }] = finished() as [api.Span & ReturnType<typeof finished>[0]];
  return { name, attributes, status };
}

function begin(message: Partial<TracedRequest> = {}): TracedRequest {
  const request: TracedRequest = {
    application: "Shop",
    method: "GET",
    scheme: "https",
    traceparent: null,
    tracestate: null,
    route: null,
    path: null,
    requestId: null,
    status: null,
    aborted: null,
    within: null,
    ...message,
  };
  traceChannels.request.start.publish(request);
  return request;
}

function end(request: TracedRequest, result: Partial<TracedRequest> = {}): void {
  traceChannels.request.asyncEnd.publish(Object.assign(request, result));
}

test("a request inside another span is its child, whatever trace it was sent with, and keeps the surrounding context", () => {
  const [parent, key] = [outer(), api.createContextKey("tenant")];
  const seen = api.context.with(api.context.active().setValue(key, "north"), () =>
    inside(parent, () => {
      const request = begin({ traceparent: TRACEPARENT });
      const found = request.within!(() => api.context.active().getValue(key));
      end(request, { status: 200 });
      return found;
    }),
  );
  expect(seen).toBe("north");
  expect(finished()[0]!.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
});

test("a request continues a trace including what its vendor has added", () => {
  end(begin({ traceparent: TRACEPARENT, tracestate: "vendor=7" }));
  const { traceId, traceState } = finished()[0]!.spanContext();
  expect([traceId, traceState?.serialize()]).toEqual([TRACE, "vendor=7"]);
});

test("unknown properties of a request are not attributes", () => {
  end(begin());
  expect(finished()[0]).toMatchObject({ name: "GET", status: { code: SpanStatusCode.UNSET } });
  expect(finished()[0]!.attributes).toEqual({ "http.request.method": "GET", "url.scheme": "https" });
});

test("a request whose client didn't get all of the response is an error, even if it began well", () => {
  end(begin(), { aborted: "client" });
  end(begin(), { status: 200, aborted: "shutdown" });
  end(begin(), { status: 499 });
  const outcomes = finished().map(({ attributes, status }) => [attributes["error.type"], status.code]);
  expect(outcomes).toEqual([
    ["client", ERROR],
    ["shutdown", ERROR],
    [undefined, SpanStatusCode.UNSET],
  ]);
});

test("a method that could be made up is never in a span's name, whatever the route", () => {
  end(begin({ method: "BREW" }), { route: "/pots/@id" });
  expect(finished()[0]!.name).toBe("HTTP /pots/@id");
  expect(finished()[0]!.attributes["http.request.method"]).toBe("_OTHER");
});

test("the end of a request whose start was not seen creates no span", () => {
  const request = begin();
  end(request);
  end({ ...request });
  expect(finished()).toHaveLength(1);
});

test("a statement has its verb, the database by its public name, and a limited part of its text", async () => {
  const long = ` \n delete from t where ${"x".repeat(3000)}`;
  const { name, attributes } = await query({ dialect: "postgres", connection: "other", sql: long });
  expect(name).toBe("DELETE");
  expect(attributes).toEqual({
    "db.system.name": "postgresql",
    "db.query.text": long.slice(0, 2000),
    "db.operation.name": "DELETE",
    "ashlar.connection": "other",
  });
});

test("a statement without a verb has the name of its database", async () => {
  expect((await query({ sql: "(select 1) union (select 2)" })).name).toBe("sqlite");
});

test.each([
  ["a code", Object.assign(new TypeError("secret"), { code: "E_UNIQUE_VIOLATION" }), "E_UNIQUE_VIOLATION"],
  ["a class", Object.assign(new TypeError("secret"), { code: 19 }), "TypeError"],
  ["nothing", "secret", "Error"],
])("a failure with %s is an error, without its message, at once or later", async (_, failure, type) => {
  const fail = (): never => {
    throw failure;
  };
  for (const work of [fail, async () => fail()]) {
    exporter.reset();
    const { attributes, status } = await query({}, work);
    expect([attributes["error.type"], status]).toEqual([type, { code: ERROR }]);
    expect(JSON.stringify([attributes, status, finished()[0]!.events])).not.toContain("secret");
  }
});

test("work is over when all of it is", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const sent = inside(outer(), () => traced(traceChannels.query, { ...SELECT }, () => promise));
  expect(finished()).toEqual([]);
  resolve();
  await sent;
  expect(finished()).toHaveLength(1);
  expect(inside(outer(), () => traced(traceChannels.hash, { operation: "hash" }, () => 5))).toBe(5);
  expect(finished().map(({ name, kind }) => [name, kind])).toEqual([
    ["SELECT", SpanKind.CLIENT],
    ["password hash", SpanKind.INTERNAL],
  ]);
});

test("work outside a request creates no span", async () => {
  expect(traced(traceChannels.hash, { operation: "hash" }, () => 5)).toBe(5);
  expect(await traced(traceChannels.query, { ...SELECT }, async () => 5)).toBe(5);
  expect(finished()).toEqual([]);
});

test("a mail has the name of its class, and its number of recipients", async () => {
  const message: TracedMail = { mailable: "ResetPassword", recipients: 2 };
  await inside(outer(), () => traced(traceChannels.mail, message, async () => {}));
  const [{ name, kind, attributes }] = finished() as [ReturnType<typeof finished>[0]];
  expect([name, kind]).toEqual(["mail ResetPassword", SpanKind.CLIENT]);
  expect(attributes).toEqual({ "ashlar.mail.mailable": "ResetPassword", "ashlar.mail.recipients": 2 });
});

test("after it is stopped, nothing is traced", () => {
  spans.stop();
  end(begin());
  expect(finished()).toEqual([]);
  spans.start();
  end(begin());
  expect(finished()).toHaveLength(1);
});
