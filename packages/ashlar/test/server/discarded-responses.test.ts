import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtModule } from "../support/built-module.ts";
import { startScript } from "../support/script-process.ts";

const SCRIPT = `
import { createReadStream, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { createApplication, HttpKernel, Route } from ${JSON.stringify(builtModule("index"))};

const folder = join(import.meta.dirname, "public");
const large = join(folder, "large.bin");
let closed = 0;

/** The files that are being read now. */
function resources() {
  return process.getActiveResourcesInfo().filter((name) => name.startsWith("File") || name.startsWith("FS"));
}

/**
 * How many files in the folder stay open after garbage collection, with enough time for a busy machine to close them.
 */
async function openFiles() {
  const endsAt = performance.now() + 30_000;
  let open = [];
  for (;;) {
    globalThis.gc();
    await turn();
    open = readdirSync("/proc/self/fd").filter((fd) => {
      try {
        return readlinkSync("/proc/self/fd/" + fd).startsWith(folder);
      } catch {
        return false;
      }
    });
    if ((open.length === 0 && resources().length === 0) || performance.now() > endsAt) return open.length;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/**
 * Reads the first chunk of a response and drops the rest. It is a separate function so that nothing refers to the
 * response later.
 */
async function begin(path) {
  const { body } = await application.fetch(new Request("http://localhost/" + path));
  const { value } = await body.getReader().read();
  return value.length > 0 ? 1 : 0;
}

const HOW = {
  async replace(next) { await next(); return new Response("another"); },
  async text(next) { await next(); return "another"; },
  async nothing(next) { await next(); return undefined; },
  async throw(next) { await next(); throw new Error("after the response"); },
  async peek(next) {
    const { body } = await next();
    if (body !== null && body !== undefined) await body.getReader().read();
    return "another";
  },
  async wrap(next) { const { body, headers } = await next(); return new Response(body.pipeThrough(new TransformStream()), { headers }); },
  async leave(next) { const response = await next(); return response; },
};

class Kernel extends HttpKernel {
  httpMiddleware = [({ request }, next) => (HOW[request.input("how")] ?? HOW.leave)(next)];
  routeMiddleware = {
    web: [({ request }, next) => (HOW[request.input("inner")] ?? HOW.leave)(next)],
    api: [],
  };
}

const application = await createApplication({
  root: import.meta.dirname,
  kernel: Kernel,
  environment: { APP_ENV: "test" },
  config: { app: { APP: { log: { level: "silent" } } } },
  routes: [
    Route.get("/open", async () => ({ open: await openFiles(), closed, resources: resources() })),
    Route.get("/bare/@path", async ({ request }) => {
      let begun = 0;
      for (let round = 0; round < 20; round++) begun += await begin(request.param("path"));
      return { begun, open: await openFiles() };
    }),
    Route.get("/download", ({ response }) => response.download(large)),
    Route.get("/stream", ({ response }) => response.stream(createReadStream(large))),
    Route.get("/missing", ({ response }) => response.stream(createReadStream(large + ".missing"))),
    Route.get("/generator", ({ response }) => response.stream((async function* () {
      try { for (let index = 0; index < 100; index++) yield "x".repeat(65536); } finally { closed++; }
    })())),
    Route.get("/platform", () => new Response(Readable.toWeb(createReadStream(large)))),
    Route.get("/twice", ({ response }) => { response.stream(createReadStream(large)); return response.stream(createReadStream(large)); }),
    Route.get("/forgotten", ({ response }) => { response.stream(createReadStream(large)); return "text"; }),
    Route.get("/empty", ({ response }) => response.stream(createReadStream(large)).status(204)),
    Route.get("/failing", ({ response }) => { response.stream(createReadStream(large)); throw new Error("after the stream"); }),
  ],
});
const server = await application.listen({ port: 0, hostname: "127.0.0.1" });
console.log("port " + server.port);
`;

const FILES = {
  "public/large.bin": "a".repeat(1024 * 1024),
  "public/small.css": "body{}",
  "public/empty.txt": "",
};

let port: number;
let kill: () => void;
// One server for all tests, each of which ends by checking that no files are open in it.
beforeAll(async () => {
  ({ port, kill } = await startScript(SCRIPT, { flags: ["--expose-gc"], files: FILES }));
});
afterAll(() => kill());

/** Requests a path many times, and returns the distinct responses. */
async function ask(port: number, path: string, init: RequestInit = {}, times = 20): Promise<string[]> {
  const responses = Array.from({ length: times }, async () => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
    const body = await response.text().catch(() => "broken off");
    return `${response.status} ${body.length > 40 ? body.length : body}`;
  });
  return [...new Set(await Promise.all(responses))];
}

async function openFiles(port: number): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/open`);
  return response.json();
}

const NOTHING_OPEN = { open: 0, closed: expect.any(Number), resources: [] };
const FAILED = expect.stringMatching(/^500 /);

describe("no files stay open when a response is replaced or dropped", () => {
  test.each([
    ["/large.bin?how=leave", ["200 1048576"]],
    ["/large.bin?how=replace", ["200 another"]],
    ["/large.bin?how=text", ["200 another"]],
    ["/large.bin?how=nothing", ["204 "]],
    ["/large.bin?how=throw", [FAILED]],
    ["/large.bin?how=peek", ["200 another"]],
    ["/large.bin?how=wrap", ["200 1048576"]],
    ["/small.css?how=replace", ["200 another"]],
    ["/small.css?how=throw", [FAILED]],
    ["/empty.txt?how=replace", ["200 another"]],
    ["/download?how=replace", ["200 another"]],
    ["/stream", ["200 1048576"]],
    ["/stream?how=replace", ["200 another"]],
    ["/stream?inner=throw", [FAILED]],
    ["/missing?inner=text", ["200 another"]],
    ["/platform", ["200 1048576"]],
    ["/platform?inner=text", ["200 another"]],
    ["/platform?how=throw", [FAILED]],
    ["/twice", ["200 1048576"]],
    ["/forgotten", ["200 text"]],
    ["/empty", ["204 "]],
    ["/failing", [FAILED]],
  ])("S62 GET %s", async (path, responses) => {
    expect(await ask(port, path)).toEqual(responses);
    expect(await openFiles(port)).toEqual(NOTHING_OPEN);
    expect(await ask(port, "/small.css")).toEqual(["200 body{}"]);
  });

  test.each(["/large.bin", "/large.bin?how=replace", "/small.css", "/download", "/stream", "/platform", "/missing"])(
    "S62 HEAD %s",
    async (path) => {
      await ask(port, path, { method: "HEAD" });
      expect(await openFiles(port)).toEqual(NOTHING_OPEN);
    },
  );

  test("S62 conditional and ranged requests whose response is replaced", async () => {
    const etag = (await fetch(`http://127.0.0.1:${port}/large.bin`, { method: "HEAD" })).headers.get("etag")!;
    const conditional = { headers: { "if-none-match": etag } };
    const ranged = { headers: { range: "bytes=0-899999" } };
    expect(await ask(port, "/large.bin", conditional)).toEqual(["304 "]);
    expect(await ask(port, "/large.bin", ranged)).toEqual(["206 900000"]);
    expect(await ask(port, "/large.bin?how=replace", conditional)).toEqual(["200 another"]);
    expect(await ask(port, "/large.bin?how=replace", ranged)).toEqual(["200 another"]);
    expect(await openFiles(port)).toEqual(NOTHING_OPEN);
  });

  test.each(["large.bin", "download"])("S62 %s, if a caller of fetch begins to read it and drops it", async (path) => {
    expect(await (await fetch(`http://127.0.0.1:${port}/bare/${path}`)).json()).toEqual({ begun: 20, open: 0 });
  });

  test("S62 clients that disconnect before their response, and during it", async () => {
    const { closed } = (await openFiles(port)) as { closed: number };
    const paths = ["/large.bin", "/large.bin?how=wrap", "/download", "/stream", "/platform", "/generator"];
    const gone = paths.flatMap((path) =>
      Array.from({ length: 10 }, async (_, index) => {
        const socket = connect(port, "127.0.0.1");
        socket.on("error", () => {});
        socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
        if (index % 2 === 0) await new Promise((resolve) => socket.once("data", resolve));
        else await new Promise((resolve) => socket.once("connect", resolve));
        socket.resetAndDestroy();
      }),
    );
    await Promise.all(gone);
    expect(await openFiles(port)).toEqual(NOTHING_OPEN);
    // Every generator that was started ends. Those whose first chunk arrived were started.
    const ended = async () => ((await openFiles(port)) as { closed: number }).closed - closed;
    await expect.poll(ended).toBeGreaterThanOrEqual(5);
  });
});
