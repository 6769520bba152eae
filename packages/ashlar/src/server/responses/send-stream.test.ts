import { Readable } from "node:stream";
import { FastResponse } from "srvx";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { exchange, rawSocket, sorted } from "../../../test/support/raw-socket.ts";
import type { Application } from "../../boot/application/application.ts";
import { createApplication } from "../../boot/application/create-application.ts";
import { createLogger } from "../../boot/log/create-logger.ts";
import { type HttpContext, Route } from "../../public/index.ts";

const open: Application[] = [];
const logged: Record<string, unknown>[] = [];

afterEach(async () => {
  logged.length = 0;
  await Promise.all(open.splice(0).map((application) => application.shutdown()));
});

type Handler = (context: HttpContext) => unknown;

async function serve(handler: Handler, prepare?: (application: Application) => void): Promise<number> {
  const settings = { name: "Shop", environment: "production", log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, { write: (line) => void logged.push(JSON.parse(line)) });
  const application = await createApplication({
    environment: {
      APP_ENV: "production",
      APP_URL: "http://127.0.0.1",
      APP_KEY: "q3Zr8pYt5Wn1Lx7Vc0Bm4Kj6Hg2Fd9Sa-_QwErTyUiO",
    },
    config: { app: { APP: { log: { requests: false } } } },
    logger,
    routes: [Route.get("/", handler), Route.get("/next", () => "next")],
  });
  prepare?.(application);
  open.push(application);
  const options = { port: 0, hostname: "127.0.0.1", handleSignals: false, isAnnounced: true };
  return (await application.listen(options)).port;
}

const failing = () => new ReadableStream({ pull: () => Promise.reject(new Error("no s3cret")) });

const failingPieces = (): AsyncIterable<string> => ({
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("no s3cret")) }),
});

const readable = () =>
  new Readable({
    read() {
      this.destroy(new Error("no s3cret"));
    },
  });

describe("a stream that fails before its first byte gets the same response as a handler that throws", () => {
  test.each<[string, Handler]>([
    ["of the response", ({ response }) => response.stream(failing())],
    ["of pieces", ({ response }) => response.stream(failingPieces())],
    ["of a standard Response", () => new Response(failing())],
    ["of Node", () => new FastResponse(readable() as never)],
    [
      "that is locked by another reader",
      () => {
        const stream = new Blob(["x"]).stream();
        stream.getReader();
        return new FastResponse(stream);
      },
    ],
    ["of values other than bytes", () => new FastResponse(ReadableStream.from([{ a: 1 }]) as never)],
  ])("a stream %s", async (_, handler) => {
    const thrown = await serve(() => {
      throw new Error("no s3cret");
    });
    const expected = await exchange(thrown, "GET /", "Host: a", "Accept: application/json");
    const text = await exchange(await serve(handler), "GET /", "Host: a", "Accept: application/json");
    expect(sorted(text)).toBe(sorted(expected));
    expect(text).toMatch(/^HTTP\/1\.1 500 /);
    expect(logged).toMatchObject([
      { msg: "The request failed." },
      { level: "error", msg: "The request failed.", code: "E_INTERNAL", method: "GET", path: "/" },
    ]);
  });

  test("the application's own error page is rendered in the request's context, and keeps its cookies and headers", async () => {
    const port = await serve(
      ({ request, response }) => {
        request.header("x-seen", "kept");
        response.cookie("a", "b").header("etag", '"1"').header("x-own", "yes");
        return response.stream(failing(), "text/csv");
      },
      (application) => application.errorPage(500, ({ request }) => `<p>${request.header("x-seen")}</p>`),
    );
    const text = await exchange(port, "GET /", "Host: a", "Accept: text/html");
    expect(text).toMatch(/^HTTP\/1\.1 500 /);
    expect(text).toMatch(/\nset-cookie: a=b; [^\n]*\n/);
    expect(text).toContain("\nx-own: yes\n");
    expect(text).toContain("\ncontent-type: text/html; charset=utf-8\n");
    expect(text).not.toMatch(/etag|text\/csv|transfer-encoding/i);
    expect(text).toMatch(/\n\n<p>kept<\/p>$/);
  });

  test("the connection serves the next request", async () => {
    const port = await serve(({ response }) => response.stream(failing()));
    const next = "GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    const text = await rawSocket(port, `GET / HTTP/1.1\r\nHost: a\r\n\r\n${next}`).closed;
    expect(text).toMatch(/^HTTP\/1\.1 500 .*HTTP\/1\.1 200 .*\r\n\r\nnext$/s);
  });

  test("an error page that fails in the same way is a 500 without a message", async () => {
    const port = await serve(
      () => new Response(failing()),
      (application) => application.errorPage(500, () => new Response(failing())),
    );
    const text = await exchange(port, "GET /", "Host: a");
    expect(text).toBe("HTTP/1.1 500 Internal Server Error\nconnection: close\ncontent-length: 0\n\n");
    expect(logged.map((line) => line.msg)).toEqual(["The request failed.", "The response could not be sent."]);
  });
});

describe("a stream that has begun", () => {
  async function* half(): AsyncGenerator<string> {
    yield "half";
    throw new Error("broken");
  }

  test.each<[string, Handler]>([
    ["of the platform", ({ response }) => response.stream(half())],
    ["of Node", () => new FastResponse(Readable.from(half()) as never)],
  ])("%s ends the connection if it breaks off, and is logged", async (_, handler) => {
    const text = await exchange(await serve(handler), "GET /", "Host: a");
    expect(text).not.toMatch(/0\n\n$/);
    expect(text).not.toContain(" 500 ");
    expect(logged).toMatchObject([{ level: "error", msg: "The response was cut off.", err: { message: "broken" } }]);
  });

  test.each<[string, Handler, string]>([
    ["of the platform", ({ response }) => response.stream(ReadableStream.from(["a", "b"]) as never), "ab"],
    ["of Node", () => new FastResponse(Readable.from(["a", "b"]) as never), "ab"],
    ["of the platform, empty,", () => new Response(new Blob([]).stream()), ""],
    ["of Node, empty,", () => new FastResponse(Readable.from([]) as never), ""],
  ])("%s arrives complete", async (_, handler, text) => {
    const response = await fetch(`http://127.0.0.1:${await serve(handler)}/`);
    expect([response.status, await response.text()]).toEqual([200, text]);
    expect(logged).toEqual([]);
  });
});

test("a client that disconnects before the first byte ends the stream, and nothing is logged", async () => {
  let ended = 0;
  const silent = () => new ReadableStream({ pull: () => new Promise(() => {}), cancel: () => void ended++ });
  const silentOfNode = () => new Readable({ read: () => {} }).on("close", () => void ended++);
  for (const handler of [() => new Response(silent()), () => new FastResponse(silentOfNode() as never)]) {
    const before = ended;
    const begun = Promise.withResolvers<void>();
    const port = await serve(() => {
      begun.resolve();
      return handler();
    });
    const { socket } = rawSocket(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await begun.promise;
    socket.destroy();
    await expect.poll(() => ended).toBe(before + 1);
  }
  expect(logged).toEqual([]);
});

test.each([
  ["HEAD", 200],
  ["GET", 204],
  ["GET", 304],
])("%s with status %i does not read the stream", async (method, status) => {
  let pulls = 0;
  let ended = 0;
  const source = { pull: () => void pulls++, cancel: () => void ended++ };
  const port = await serve(() => new FastResponse(new ReadableStream(source, { highWaterMark: 0 }), { status }));
  const text = await exchange(port, `${method} /`, "Host: a");
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*\\n\\n$`));
  expect([pulls, ended]).toEqual([0, 1]);
});

test.each<[string, Handler]>([
  [
    "a stream of the platform that sends immediately",
    () => new Response(Readable.toWeb(Readable.from(["piece"])) as ReadableStream),
  ],
  ["a Node stream that sends immediately", () => new FastResponse(Readable.from(["piece"]) as never)],
  ["a stream that fails immediately", () => new Response(failing())],
])("%s leaves no timer behind", async (_, handler) => {
  const port = await serve(handler);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  await exchange(port, "GET /", "Host: a");
  expect(vi.getTimerCount()).toBe(0);
});

describe("a stream that sends nothing at first", () => {
  const silent = () => {
    let release: (piece: string | null) => void = () => {};
    const body = new ReadableStream({
      start(controller) {
        release = (piece) => {
          if (piece === null) return controller.error(new Error("no s3cret"));
          controller.enqueue(new TextEncoder().encode(piece));
          controller.close();
        };
      },
    });
    return { body, release: (piece: string | null) => release(piece) };
  };

  test("its headers are sent immediately, so that a client that waits for events knows it is connected", async () => {
    const { body, release } = silent();
    const port = await serve(() => new Response(body, { headers: { "content-type": "text/event-stream" } }));
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    release("data: 1\n\n");
    expect(await answer.text()).toBe("data: 1\n\n");
  });

  test("the headers of a Node stream are sent immediately as well", async () => {
    const body = new Readable({ read() {} });
    const port = await serve(() => new FastResponse(body as never, { headers: { "content-type": "text/plain" } }));
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    expect(answer.headers.get("content-type")).toBe("text/plain");
    body.push("late");
    body.push(null);
    expect(await answer.text()).toBe("late");
  });

  test("if it fails later, the connection ends, because the response has begun", async () => {
    const { body, release } = silent();
    const port = await serve(() => new Response(body));
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    release(null);
    await expect(answer.text()).rejects.toThrow();
    expect(logged).toMatchObject([{ msg: "The response was cut off." }]);
  });
});
