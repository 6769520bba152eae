import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import type { HttpContext } from "../../src/http/index.ts";
import { Route, type RouteEntry, SignedMiddleware } from "../../src/routing/index.ts";
import type { RunningServer } from "../../src/server/index.ts";
import { Csrf } from "../../src/session/index.ts";
import { testApi } from "../support/api-application.ts";
import { type BuildOptions, buildApplication } from "../support/build-application.ts";
import { applicationOf, ask } from "../support/dispatched.ts";
import { rawSocket } from "../support/raw-socket.ts";
import { sessionApplication } from "../support/session-application.ts";
import { testWeb } from "../support/web-application.ts";

const MEBIBYTE = 1024 * 1024;
/** More than all buffers in between: the kernel's two alone may have 64 MiB (`net.ipv4.tcp_rmem`, `tcp_wmem`). */
const BUFFERED_MIB = 128;
/** Twice that, so that a missing backpressure shows. */
const SENT_MIB = 256;
/** `STREAMED_MIB=2048` sends 2 GiB. */
const STREAMED_MIB = Number(process.env.STREAMED_MIB ?? SENT_MIB);

async function listening(application: Application): Promise<RunningServer> {
  const server = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  onTestFinished(() => application.shutdown());
  return server;
}

async function serve(
  routes: readonly RouteEntry[],
  server: object = {},
  logged: object[] = [],
): Promise<RunningServer> {
  const options: BuildOptions = {
    routes,
    middleware: { web: [], api: [] },
    config: { app: { APP: { server: { maxQueueMs: 0, ...server } } } },
    logged: logged as never,
  };
  return listening(await buildApplication(options));
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ashlar-streams-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

/** What a handler received: the complete body, or an error. */
async function lengthOf(context: HttpContext): Promise<{ length: number }> {
  let length = 0;
  for await (const chunk of context.request.bodyStream()) length += chunk.length;
  return { length };
}

const upload = Route.post("/upload", lengthOf).streamsBody();

describe("S183 a streamed body", () => {
  test(`of ${STREAMED_MIB} MiB reaches the disk, and only a few MiB are on the way`, { timeout: 600_000 }, async () => {
    const path = join(await folder(), "upload");
    const file = createWriteStream(path);
    const route = Route.put("/upload", async ({ request }) => {
      await pipeline(request.bodyStream(), file);
      return { size: (await stat(path)).size };
    })
      .streamsBody()
      .bodyLimit("20gb");
    const { port } = await serve([route], { requestTimeoutSeconds: 600 });
    const outgoing = httpRequest({ port, host: "127.0.0.1", method: "PUT", path: "/upload", agent: false });
    const answered = once(outgoing, "response");
    const chunk = Buffer.alloc(MEBIBYTE, "0123456789abcdef");
    const first = process.memoryUsage.rss();
    let most = 0;
    let rss = 0;
    for (let sent = 1; sent <= STREAMED_MIB; sent++) {
      if (!outgoing.write(chunk)) await once(outgoing, "drain");
      most = Math.max(most, sent * MEBIBYTE - file.bytesWritten);
      rss = Math.max(rss, process.memoryUsage.rss() - first);
    }
    outgoing.end();
    const [response] = await answered;
    let body = "";
    for await (const piece of response) body += piece;
    expect([response.statusCode, body]).toEqual([200, `{"size":${STREAMED_MIB * MEBIBYTE}}`]);
    // In the buffers of the two sockets, in those of the file, and in the kernel.
    expect(most / MEBIBYTE).toBeLessThan(BUFFERED_MIB);
    if (process.env.STREAMED_MIB) console.log(`on the way: ${most} bytes; more memory: ${rss} bytes`);
  });

  test("waits for a slow writer: the client can't send more than a few buffers ahead", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let taken = 0;
    const slow = Route.post("/slow", async ({ request }) => {
      const sink = new Writable({
        write: (chunk: Uint8Array, _, done) => {
          taken += chunk.length;
          released.then(() => done());
        },
      });
      await pipeline(request.bodyStream(), sink);
      return { taken };
    })
      .streamsBody()
      .bodyLimit("1gb");
    const { port } = await serve([slow]);
    const outgoing = httpRequest({ port, host: "127.0.0.1", method: "POST", path: "/slow", agent: false });
    const answered = once(outgoing, "response");
    let accepted = 0;
    const chunk = Buffer.alloc(MEBIBYTE);
    const isFull = () => !outgoing.write(chunk, () => accepted++);
    for (let index = 0; index < SENT_MIB; index++) isFull();
    await expect.poll(() => taken).toBeGreaterThan(0);
    // The kernel's buffers hold the rest of what is accepted; it stops well before all of it.
    let seen = -1;
    await expect
      .poll(
        () => {
          const isSettled = seen === accepted;
          seen = accepted;
          return isSettled;
        },
        { interval: 200 },
      )
      .toBe(true);
    expect(accepted).toBeLessThan(BUFFERED_MIB);
    expect(taken).toBeLessThan(MEBIBYTE);
    release();
    outgoing.end();
    const [response] = await answered;
    expect(response.statusCode).toBe(200);
    response.resume();
    expect(taken).toBe(SENT_MIB * MEBIBYTE);
  });

  test("is refused by its announced length before a byte is sent, and counted without one", async () => {
    const { port, url } = await serve([upload.bodyLimit(1000)]);
    const announced = rawSocket(port, "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
    announced.socket.once("data", () => announced.socket.end());
    expect(await announced.closed).toMatch(/^HTTP\/1\.1 413 /);
    const pieces = (count: number) =>
      new ReadableStream({
        pull: (controller) => (count-- === 0 ? controller.close() : controller.enqueue(Buffer.alloc(100))),
      });
    const send = (count: number) =>
      fetch(`${url}upload`, { method: "POST", body: pieces(count), duplex: "half" } as RequestInit);
    expect(await (await send(10)).json()).toEqual({ length: 1000 });
    expect((await send(11)).status).toBe(413);
  });

  test("that is endless gets a 413 at the limit, and the client can read it while still sending", async () => {
    let length = 0;
    const counting = Route.post("/upload", async ({ request }) => {
      for await (const chunk of request.bodyStream()) length += chunk.length;
      return "all";
    })
      .streamsBody()
      .bodyLimit("1mb");
    const { port } = await serve([counting]);
    const { socket, received, closed } = rawSocket(
      port,
      "POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    const flood = setInterval(() => socket.write(chunk), 1);
    await closed;
    clearInterval(flood);
    expect(received()).toMatch(/^HTTP\/1\.1 413 [\s\S]*connection: close/i);
    expect(length).toBeLessThanOrEqual(MEBIBYTE);
  });

  test("has the application's limit unless the route says otherwise, and none with Infinity", async () => {
    const any = Route.post("/any", lengthOf).streamsBody().bodyLimit(Number.POSITIVE_INFINITY);
    const { url } = await serve([upload, any]);
    const send = async (path: string) => {
      const answer = await fetch(`${url}${path}`, { method: "POST", body: Buffer.alloc(2 * MEBIBYTE) });
      return [answer.status, await answer.text()];
    };
    expect(await send("upload")).toEqual([413, expect.any(String)]);
    expect(await send("any")).toEqual([200, `{"length":${2 * MEBIBYTE}}`]);
  });

  test("of a client that disconnects fails in the handler, which leaves no file behind", async () => {
    const root = await folder();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
    const route = Route.put("/upload", async ({ request }) => {
      const path = join(root, "half");
      try {
        const file = createWriteStream(path);
        file.once("open", () => begin());
        await pipeline(request.bodyStream(), file);
      } catch (error) {
        await rm(path, { force: true });
        fail(error);
        throw error;
      }
      return "stored";
    }).streamsBody();
    const { port } = await serve([route]);
    const { socket } = rawSocket(port, "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf");
    await begun;
    socket.destroy();
    expect(await failed).toMatchObject({ code: "E_INVALID_BODY", status: 400 });
    expect(await readdir(root)).toEqual([]);
  });

  test("of a client that takes longer than requestTimeoutSeconds is cut off", async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<true>();
    const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
    const route = Route.post("/upload", (context) => {
      begin(true);
      return lengthOf(context).catch(fail);
    }).streamsBody();
    const { port } = await serve([route], { headersTimeoutSeconds: 1, requestTimeoutSeconds: 1 });
    let closed: Promise<string>;
    // On a busy machine, a request may be cut off before it reaches the handler.
    do closed = rawSocket(port, "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na").closed;
    while ((await Promise.race([begun, closed])) !== true);
    expect(await closed).toMatch(/^(?:HTTP\/1\.1 408 |$)/);
    expect(await failed).toMatchObject({ code: "E_INVALID_BODY" });
  });

  test("is cut off by a shutdown that has waited for it", async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
    const route = Route.post("/upload", async ({ request }) => {
      const reader = request.bodyStream().getReader();
      await reader.read();
      begin();
      await reader.read().catch(fail);
      return "never sent";
    }).streamsBody();
    const server = await serve([route]);
    rawSocket(server.port, "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na");
    await begun;
    await server.close(0.2);
    expect(await failed).toMatchObject({ code: "E_INVALID_BODY" });
  });

  test("that a handler leaves unread, or reads in part, does not keep the client from its response", async () => {
    const none = Route.post("/none", () => "none").streamsBody();
    const part = Route.post("/part", async ({ request }) => {
      await request.bodyStream().getReader().read();
      return "part";
    }).streamsBody();
    const { url } = await serve([none.bodyLimit("100mb"), part.bodyLimit("100mb")]);
    for (const path of ["none", "part"]) {
      for (const size of [10, 5 * MEBIBYTE]) {
        const answer = await fetch(`${url}${path}`, { method: "POST", body: Buffer.alloc(size) });
        expect(await answer.text()).toBe(path);
      }
    }
  });

  test("that is read after the response has been sent fails, and does not look complete", async () => {
    const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
    const route = Route.post("/upload", (context) => {
      lengthOf(context).then(fail, fail);
      return "too early";
    }).streamsBody();
    const { port } = await serve([route]);
    const { received } = rawSocket(port, "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\na");
    expect(await failed).toMatchObject({ code: "E_INTERNAL", message: expect.stringContaining("response was sent") });
    await expect.poll(received).toMatch(/too early$/);
  });

  test("can be the source of the response", async () => {
    const echo = Route.post("/echo", ({ request, response }) => response.stream(request.bodyStream())).streamsBody();
    const { url } = await serve([echo.bodyLimit("10mb")]);
    const sent = Buffer.alloc(3 * MEBIBYTE, "abc");
    const answer = await fetch(`${url}echo`, { method: "POST", body: sent });
    const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
    expect(hash(new Uint8Array(await answer.arrayBuffer()))).toBe(hash(sent));
  });

  test("keeps the connection for the next request once it was read", async () => {
    const { port } = await serve([upload]);
    const one = "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
    const { received, socket } = rawSocket(port, one + one);
    await expect.poll(() => received().match(/\{"length":3\}/g)?.length).toBe(2);
    socket.destroy();
  });

  test("is requested with 100 Continue only once the handler reads it", async () => {
    const { port } = await serve([upload, Route.post("/no", () => "no").streamsBody()]);
    const ask = (path: string) =>
      rawSocket(port, `POST ${path} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n`);
    const yes = ask("/upload");
    await expect.poll(yes.received).toContain("HTTP/1.1 100 Continue");
    yes.socket.write("abc");
    await expect.poll(yes.received).toContain('{"length":3}');
    const no = ask("/no");
    await expect.poll(no.received).toContain("HTTP/1.1 200 OK");
    expect(no.received()).not.toContain("100 Continue");
    for (const { socket } of [yes, no]) socket.destroy();
  });
});

describe("S183 checks before a streamed body", () => {
  const headers = "Host: x\r\nAccept: application/json\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n";

  test("a guard refuses guests before a byte of it is requested", async () => {
    const web = await testWeb({ routes: [upload.middleware("auth")] });
    const { port } = await listening(web.application);
    const { received, socket } = rawSocket(port, `POST /upload HTTP/1.1\r\n${headers}`);
    await expect.poll(received).toMatch(/^HTTP\/1\.1 401 /);
    socket.destroy();
  });

  test("a token guard refuses guests too, and lets a token in the header through", async () => {
    const api = await testApi({ routes: [upload], driver: { authenticates: true } });
    const send = async (more: object) => {
      const init = { method: "POST", body: "abc", headers: { "content-type": "application/json", ...more } };
      const answer = await api.application.fetch(new Request("http://localhost/api/upload", init));
      return [answer.status, answer.status === 200 ? await answer.json() : null];
    };
    expect(await send({})).toEqual([401, null]);
    expect(await send({ authorization: `Bearer ${await api.token()}` })).toEqual([200, { length: 3 }]);
  });

  test("the CSRF token is in the header, and the handler never runs without it", async () => {
    let handled = 0;
    const route = Route.post("/upload", (context) => {
      handled++;
      return lengthOf(context);
    }).streamsBody();
    const application = await sessionApplication({
      routes: [Route.get("/form", (context) => Csrf.token(context)), route],
    });
    const page = await ask(application, "/form");
    const cookie = page.headers.getSetCookie()[0]!.split(";")[0]!;
    const send = (more: Record<string, string>, body: string) =>
      ask(application, "/upload", { method: "POST", body, headers: { cookie, ...more } });
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect((await send(form, `__token=${encodeURIComponent(page.body)}`)).status).toBe(419);
    expect((await send({ "x-csrf-token": "made-up" }, "abc")).status).toBe(419);
    expect(handled).toBe(0);
    expect((await send({ "x-csrf-token": page.body }, "abc")).body).toBe('{"length":3}');
  });

  test("a signed URL is checked, and the body can't add to the signed parameters", async () => {
    const application = await buildApplication({
      routes: [upload.name("upload").middleware("signed")],
      middleware: { web: [], signed: [SignedMiddleware] },
      environment: { APP_KEY: "k3Vw9qLz7Rt2Xn8Bc5Mf1Hd6Js4Pg0YaQeTuIoWi" },
    });
    const { pathname, search } = new URL(application.router.signed("upload"), "http://localhost");
    const send = (path: string) => ask(application, path, { method: "POST", body: "signature=b" });
    expect((await send(pathname + search)).body).toBe('{"length":11}');
    expect((await send(pathname)).status).toBe(403);
  });
});

describe("the inputs of a route with a streamed body", () => {
  test("are the query's; reading the body's causes an error that names the alternative", async () => {
    const logged: object[] = [];
    const wanted = Route.post("/upload/@what", async ({ request }) => {
      switch (request.param("what")) {
        case "query":
          return { name: request.input("name"), all: request.all(), missing: request.input("x") };
        case "body":
          return request.body;
        case "bodyInput":
          return { x: request.bodyInput("x") };
        case "file":
          return { x: request.file("x") };
        default:
          return { x: await request.rawBody() };
      }
    }).streamsBody();
    const application = await buildApplication({
      routes: [wanted],
      middleware: { web: [] },
      logged: logged as never,
    });
    const send = (path: string) =>
      ask(application, path, {
        method: "POST",
        body: "x=y",
        headers: { "content-type": "application/x-www-form-urlencoded" },
      });
    const query = await send("/upload/query?name=Ada");
    expect(JSON.parse(query.body)).toEqual({ name: "Ada", all: { name: "Ada" }, missing: null });
    for (const what of ["body", "bodyInput", "file", "rawBody"]) {
      logged.length = 0;
      expect((await send(`/upload/${what}`)).status, what).toBe(500);
      expect(JSON.stringify(logged)).toContain("request.bodyStream()");
    }
  });

  test("don't turn a POST into another method, and no form can reach a streaming route that way", async () => {
    const application = await applicationOf([
      Route.post("/files", lengthOf).streamsBody(),
      Route.delete("/files", () => "deleted"),
      Route.post("/notes", () => "posted"),
      Route.put("/notes", lengthOf).streamsBody().bodyLimit("20gb"),
      Route.put("/alone", lengthOf).streamsBody(),
    ]);
    const form = (fields: Record<string, string>) => ({ method: "POST", body: new URLSearchParams(fields) });
    expect((await ask(application, "/files", form({ __method: "DELETE" }))).body).toBe('{"length":15}');
    expect((await ask(application, "/notes", form({ __method: "PUT" }))).body).toBe("posted");
    // The other route's limit doesn't apply to the POST.
    expect((await ask(application, "/notes", { method: "POST", body: "x".repeat(2 * MEBIBYTE) })).status).toBe(413);
    expect((await ask(application, "/alone", form({ __method: "PUT" }))).status).toBe(405);
  });

  test("bodyStream() on any other route names the missing declaration", async () => {
    const logged: object[] = [];
    const application = await buildApplication({
      routes: [Route.post("/upload", lengthOf)],
      middleware: { web: [] },
      logged: logged as never,
    });
    expect((await ask(application, "/upload", { method: "POST", body: "x" })).status).toBe(500);
    expect(JSON.stringify(logged)).toContain(".streamsBody()");
  });

  test("through fetch, the body is read as it arrives, and released when the handler stops", async () => {
    const cancelled: unknown[] = [];
    const first = Route.post("/upload", async ({ request }) => {
      for await (const chunk of request.bodyStream()) return { first: chunk.length };
      return { first: 0 };
    }).streamsBody();
    const application = await applicationOf([first.bodyLimit("1gb")]);
    let pulled = 0;
    const body = new ReadableStream({
      pull: (controller) => {
        pulled++;
        controller.enqueue(new Uint8Array(1000));
      },
      cancel: (reason) => void cancelled.push(reason),
    });
    const answer = await ask(application, "/upload", { method: "POST", body, duplex: "half" } as RequestInit);
    expect(answer.body).toBe('{"first":1000}');
    await expect.poll(() => cancelled.length).toBe(1);
    await nextTurn();
    expect(pulled).toBeLessThan(5);
  });
});
