import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { rawSocket } from "../../../test/support/raw-socket.ts";
import { createApplication } from "../../boot/application/create-application.ts";
import { createLogger } from "../../boot/log/create-logger.ts";
import { type HttpContext, Route } from "../../public/index.ts";
import { RefusedError } from "../../support/index.ts";

type Line = Readonly<Record<string, unknown>>;

async function serve(handler: (context: HttpContext) => unknown, server: Record<string, unknown> = {}) {
  const logged: Line[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: true } } as const;
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    config: { app: { APP: { log: { requests: true }, server } } },
    logger: createLogger(settings, { write: (line) => void logged.push(JSON.parse(line) as Line) }),
    routes: [Route.get("/", handler), Route.get("/next", () => "next")],
  });
  onTestFinished(() => application.shutdown());
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const lines = () =>
    logged.filter(({ msg }) => msg === "request").map(({ path, status, aborted }) => [path, status, aborted]);
  return { application, port, logged, lines };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;

/** A stream that yields a chunk, and then calls a function. */
function piecesThen(next: (controller: ReadableStreamDefaultController) => unknown): ReadableStream {
  let pulls = 0;
  return new ReadableStream({
    pull: (controller) => (pulls++ === 0 ? controller.enqueue(Buffer.from("piece")) : (next(controller) as undefined)),
  });
}

test("a response that is not a stream is logged before it is sent", async () => {
  const { port, lines } = await serve(() => "hello");
  expect(await rawSocket(port, get("/")).closed).toMatch(/hello$/);
  expect(lines()).toEqual([["/", 200, undefined]]);
});

test("S150 requests refused because of overload are counted, and not logged", async () => {
  const refusal = { why: "Too many.", bindings: {}, waitedMs: 0 };
  const { application, port, lines } = await serve(() => {
    throw RefusedError.of("Too many.", refusal);
  });
  expect(await rawSocket(port, get("/")).closed).toMatch(/^HTTP\/1\.1 503 /);
  expect(await rawSocket(port, get("/next")).closed).toMatch(/next$/);
  expect(lines()).toEqual([["/next", 200, undefined]]);
  expect(application.stats().errors).toEqual({ E_OVERLOADED: 1 });
});

test("a connection that is kept does not hold on to the requests that were logged", async () => {
  const connections: Socket[] = [];
  const keep = (message: unknown) => void connections.push((message as { socket: Socket }).socket);
  subscribe("net.server.socket", keep);
  onTestFinished(() => void unsubscribe("net.server.socket", keep));
  const { port, lines } = await serve(() => "hello");
  await rawSocket(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3) + get("/next")).closed;
  expect(lines()).toHaveLength(4);
  const [connection] = connections as unknown as Readonly<Record<symbol, unknown>>[];
  const held = Object.getOwnPropertySymbols(connection).find(({ description }) => description === "unfinished")!;
  expect(connection![held]).toBe(null);
});

test("a stream is logged when it has ended", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { port, lines } = await serve(() => {
    return new Response(
      piecesThen((controller) => released.then(() => controller.close())),
      { status: 201 },
    );
  });
  const { received, closed } = rawSocket(port, get("/"));
  await expect.poll(received).toContain("piece");
  expect(lines()).toEqual([]);
  release();
  await closed;
  await expect.poll(lines).toEqual([["/", 201, undefined]]);
});

test("a stream that fails before its first byte is logged with the status of the error response", async () => {
  const { port, lines, logged } = await serve(
    () => new Response(new ReadableStream({ start: (controller) => controller.error(new Error("early")) })),
  );
  expect(await rawSocket(port, get("/")).closed).toMatch(/^HTTP\/1\.1 500 /);
  await expect.poll(lines).toEqual([["/", 500, undefined]]);
  const [failure, line] = logged;
  expect([failure!.msg, failure!.requestId]).toEqual(["The request failed.", line!.requestId]);
});

test("a stream that breaks off is logged as aborted by an error", async () => {
  const { port, lines } = await serve(
    () => new Response(piecesThen((controller) => nextTurn().then(() => controller.error(new Error("broken"))))),
  );
  await rawSocket(port, get("/")).closed;
  await expect.poll(lines).toEqual([["/", 200, "error"]]);
});

test("a client that disconnects during a stream, or before the response, is logged", async () => {
  const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
  const { port, lines } = await serve(async ({ request, response }) => {
    if (request.header("x-stream") === null) {
      leave();
      const { promise: closed, resolve: close } = Promise.withResolvers<void>();
      (request.raw as { runtime?: { node?: { res: NodeJS.EventEmitter } } }).runtime!.node!.res.once("close", close);
      await closed;
      return "too late";
    }
    return response.stream(piecesThen(() => new Promise(() => {})));
  });
  const early = rawSocket(port, get("/"));
  await gone;
  early.socket.destroy();
  await expect.poll(lines).toEqual([["/", null, "client"]]);
  const { socket, received } = rawSocket(port, get("/").replace("Host", "X-Stream: 1\r\nHost"));
  await expect.poll(received).toContain("piece");
  socket.destroy();
  await expect.poll(lines).toHaveLength(2);
  expect(lines()[1]).toEqual(["/", 200, "client"]);
});

test("a hanging request is logged when its client disconnects, and not again if its handler responds later", async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const { port, lines } = await serve(async () => {
    begin();
    await released;
    setImmediate(answer);
    return "too late";
  });
  const { socket } = rawSocket(port, get("/"));
  await begun;
  socket.destroy();
  await expect.poll(lines).toEqual([["/", null, "client"]]);
  release();
  await answered;
  expect(await rawSocket(port, get("/next")).closed).toMatch(/next$/);
  expect(lines()).toEqual([
    ["/", null, "client"],
    ["/next", 200, undefined],
  ]);
});

test("pipelined requests that hang are all logged when their client disconnects", async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  let count = 0;
  const { port, lines } = await serve(() => {
    if (++count === 2) begin();
    return new Promise(() => {});
  });
  const { socket } = rawSocket(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2));
  await begun;
  socket.destroy();
  await expect.poll(lines).toEqual([
    ["/", null, "client"],
    ["/", null, "client"],
  ]);
});

test.each([["b"], ["d"], ["a", "b"], ["a", "d"], ["b", "a"], ["c", "b"], ["d", "c"], ["c", "d", "b"]])(
  "pipelined requests are logged once each, first %s, and those that hang in order",
  async (...answered) => {
    const waiting = new Map(["a", "b", "c", "d"].map((id) => [id, Promise.withResolvers<string>()]));
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { port, logged } = await serve(({ request }) => {
      if (request.id === "d") begin();
      return waiting.get(request.id)!.promise;
    });
    const ids = () => logged.filter(({ msg }) => msg === "request").map(({ requestId }) => requestId);
    const requests = [...waiting.keys()].map((id) => `GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\n\r\n`);
    const { socket } = rawSocket(port, requests.join(""));
    await begun;
    for (const [n, id] of answered.entries()) {
      waiting.get(id)!.resolve("answered");
      await expect.poll(ids).toHaveLength(n + 1);
    }
    socket.destroy();
    await expect.poll(ids).toEqual([...answered, ...[...waiting.keys()].filter((id) => !answered.includes(id))]);
  },
);

test("pipelined requests that a shutdown cuts off are all logged", async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  let count = 0;
  const { application, port, lines } = await serve(
    () => {
      if (++count === 2) begin();
      return new Promise(() => {});
    },
    { shutdownTimeoutSeconds: 0.2 },
  );
  const { closed } = rawSocket(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2));
  await begun;
  await application.shutdown();
  expect(await closed).toBe("");
  expect(lines()).toEqual([
    ["/", null, "shutdown"],
    ["/", null, "shutdown"],
  ]);
});

test("a request that a shutdown cuts off is logged, without a status if nothing was sent", async () => {
  const begun = Promise.withResolvers<void>();
  const { application, port, lines, logged } = await serve(
    ({ request, response }) => {
      if (request.header("x-stream") !== null) return response.stream(piecesThen(() => new Promise(() => {})));
      begun.resolve();
      return new Promise(() => {});
    },
    { shutdownTimeoutSeconds: 0.2 },
  );
  const silent = rawSocket(port, get("/"));
  const stream = rawSocket(port, get("/").replace("Host", "X-Stream: 1\r\nHost"));
  await begun.promise;
  await expect.poll(stream.received).toContain("piece");
  await application.shutdown();
  expect(await silent.closed).toBe("");
  expect(lines().toSorted()).toEqual(
    [
      ["/", null, "shutdown"],
      ["/", 200, "shutdown"],
    ].toSorted(),
  );
  const ids = logged.flatMap(({ requestId }) => (requestId === undefined ? [] : [requestId]));
  expect(new Set(ids).size).toBe(2);
});

test("a request passed on to another application is logged by both", async () => {
  const inner = await serve(() => "inner");
  const outer = await serve(async ({ request }) => {
    const answer = await inner.application.fetch(request.raw);
    return new Response(await answer.text(), { status: 202 });
  });
  expect(await rawSocket(outer.port, get("/")).closed).toMatch(/^HTTP\/1\.1 202 /);
  expect([inner.lines(), outer.lines()]).toEqual([[["/", 200, undefined]], [["/", 202, undefined]]]);
});

test("the line has the length of a body that was announced and sent completely", async () => {
  const stream = () => piecesThen((controller) => controller.close());
  const { port, logged } = await serve(({ request, response }) => {
    const kind = request.header("x-kind");
    if (kind === "stream") return new Response(stream());
    if (kind === "announced") return new Response(stream(), { headers: { "content-length": "5" } });
    if (kind === "cut off") {
      const pieces = piecesThen((controller) => nextTurn().then(() => controller.error(new Error("broken"))));
      return new Response(pieces, { headers: { "content-length": "10" } });
    }
    if (kind === "broken") return new Response(piecesThen((controller) => controller.error(new Error("broken"))));
    return kind === "nothing" ? undefined : response.json("gr\u00fcn");
  });
  const ask = (kind: string, method = "GET") =>
    rawSocket(port, get("/").replace("GET", method).replace("Host", `X-Kind: ${kind}\r\nHost`)).closed;
  for (const kind of ["text", "nothing", "announced", "stream", "broken", "cut off"]) {
    await ask(kind);
    await expect.poll(() => logged.at(-1)?.msg).toBe("request");
  }
  await ask("text", "HEAD");
  const lines = () => logged.filter(({ msg }) => msg === "request");
  await expect.poll(lines).toHaveLength(7);
  expect(lines().map(({ bytes }) => bytes)).toEqual([7, 0, 5, undefined, undefined, undefined, 0]);
});
