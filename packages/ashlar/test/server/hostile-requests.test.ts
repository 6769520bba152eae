import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { createApplication, createLogger, Route } from "../../src/public/index.ts";
import { builtModule } from "../support/built-module.ts";
import { runScript, type ScriptProcess } from "../support/script-process.ts";

/** Many kinds of responses, some of them broken. An unhandled error ends the process and fails the test. */
const SCRIPT = `
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { createApplication, HttpKernel, Route } from ${JSON.stringify(builtModule("index"))};

class Throwing extends Response {
  get status() { throw new Error("no status"); }
}
class ThrowingHeaders extends Response {
  get headers() { throw new Error("no headers"); }
}
class ThrowingBody extends Response {
  get body() { throw new Error("no body"); }
}
const locked = () => {
  const response = new Response("text");
  response.body.getReader();
  return response;
};
const failingLater = () => new ReadableStream({
  async pull(controller) {
    if (this.begun) throw new Error("amid the answer");
    this.begun = true;
    controller.enqueue(new TextEncoder().encode("piece"));
  },
});

class Kernel extends HttpKernel {
  httpMiddleware = [async (context, next) => next()];
  routeMiddleware = { web: [], api: [] };
}

const application = await createApplication({
  root: import.meta.dirname,
  kernel: Kernel,
  environment: { APP_ENV: "test" },
  config: { app: { APP: { log: { level: "error" } } } },
  routes: [
    Route.get("/ok", () => "ok"),
    Route.post("/echo", ({ request }) => request.all()),
    Route.get("/status", () => new Throwing("x")),
    Route.get("/headers", () => new ThrowingHeaders("x")),
    Route.get("/body", () => new ThrowingBody("x")),
    Route.get("/locked", locked),
    Route.get("/error", () => Response.error()),
    Route.get("/later", ({ response }) => response.stream(failingLater())),
    Route.get("/later-platform", () => new Response(failingLater())),
    Route.get("/values", () => new Response(new ReadableStream({ pull: (controller) => controller.enqueue({ not: "bytes" }) }))),
    Route.get("/readable", ({ response }) => response.stream(createReadStream("/nowhere"))),
    Route.get("/readable-later", ({ response }) => response.stream(new Readable({
      read() { this.push("piece"); this.destroy(new Error("amid the answer")); },
    }))),
    Route.get("/cancel", ({ response }) => response.stream(new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(65536)),
      cancel: () => Promise.reject(new Error("the source cannot be cancelled")),
    }))),
    Route.get("/thenable", () => ({ then() { throw new Error("no promise"); } })),
    Route.get("/tojson", () => ({ toJSON() { throw new Error("no JSON"); } })),
    Route.get("/null", () => Promise.reject(null)),
    Route.get("/proxy", () => { throw new Proxy(new Error("x"), { get() { throw new Error("nothing can be asked"); } }); }),
    Route.get("/getter", () => { throw Object.defineProperty(new Error("x"), "message", { get() { throw new Error("no message"); } }); }),
    Route.get("/revoked", () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy; }),
    Route.get("/revoked-answer", () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; }),
    Route.get("/bad-status", () => new Response(null, { status: 204, statusText: "n\\u00f6" })),
  ],
});
application.mount("/mounted", async (request) => new Response("mounted"));
application.mount("/reading", async (request) => new Response(String((await request.text()).length)));
application.mount("/throwing", () => { throw new Error("mounted, and thrown"); });
application.mount("/nothing", () => undefined);
application.mount("/echoing", (request) => new Response(request.body));
const server = await application.listen({ port: 0, hostname: "127.0.0.1" });
console.log("port " + server.port);
`;

const FILES = { "public/large.bin": "a".repeat(1024 * 1024), "public/small.css": "body{}" };

const start = (): Promise<ScriptProcess> => runScript(SCRIPT, { flags: ["--expose-gc"], files: FILES });

/** Sends bytes on a separate connection, closes it after a moment or immediately, and returns the response. */
async function send(port: number, bytes: string, how: "wait" | "end" | "reset", patienceMs = 500): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.on("data", (data) => (received += data.toString("latin1")));
  const closed = new Promise((resolve) => socket.on("close", resolve).on("error", () => {}));
  await new Promise((resolve) => socket.once("connect", resolve));
  await new Promise((resolve) => socket.write(Buffer.from(bytes, "latin1"), resolve));
  if (how === "reset") {
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.resetAndDestroy();
  } else if (how === "end") socket.end();
  const late = setTimeout(() => socket.destroy(), patienceMs);
  await closed;
  clearTimeout(late);
  return received;
}

async function stillAnswers({ port, child, output }: ScriptProcess): Promise<void> {
  // An unhandled rejection ends the process within a few turns.
  for (let round = 0; round < 3; round++) {
    expect(await (await fetch(`http://127.0.0.1:${port}/ok`)).text(), output()).toBe("ok");
  }
  expect(child.exitCode).toBeNull();
  expect(output()).not.toContain("not handled");
}

const REQUESTS: readonly (readonly [name: string, bytes: string])[] = [
  [
    "a websocket's upgrade",
    "GET /ok HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n",
  ],
  ["an upgrade of a file", "GET /large.bin HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"],
  [
    "an upgrade to HTTP/2",
    "GET /ok HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
  ],
  ["HTTP/2 without an upgrade", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"],
  ["TLS", "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"],
  ["CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n"],
  ["TRACE of a mount", "TRACE /mounted HTTP/1.1\r\nHost: a\r\n\r\n"],
  [
    "an expectation",
    'POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}',
  ],
  [
    "an expectation with a body that is too large",
    "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n",
  ],
  ["an unknown expectation", "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: the-unexpected\r\nContent-Length: 0\r\n\r\n"],
  [
    "an expectation of a mount",
    "POST /mounted HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n",
  ],
  [
    "an incomplete body",
    'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":',
  ],
  [
    "an incomplete multipart body",
    'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n\r\n--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\nabc',
  ],
  [
    "a malformed chunked body",
    "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\nZZZ\r\n",
  ],
  [
    "a cut body for a mount that does not read it",
    "POST /mounted HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc",
  ],
  ["a cut body for a mount that reads it", "POST /reading HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc"],
  ["a cut body for a mount that sends it back", "POST /echoing HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc"],
  [
    "a malformed body for a mount that reads it",
    "POST /reading HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\nZZZ\r\n",
  ],
  ["a body with GET for a mount", "GET /reading HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"],
  ["a cut body with GET for a file", "GET /large.bin HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc"],
  ["a cut body for a path that leads nowhere", "POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc"],
  ["many requests at once", "GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50)],
  [
    "many conditional and ranged requests at once",
    "GET /large.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=5-\r\n\r\nGET /large.bin HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\n\r\n".repeat(
      20,
    ),
  ],
  [
    "an invalid range",
    "GET /large.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=99999999999999999999-\r\nIf-Range: \0\r\n\r\n",
  ],
  ["an invalid path", "GET /%00%ff%zz/../..//%2e%2e HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["an invalid absolute target", "GET http://[::1 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["an invalid host", "GET /mounted HTTP/1.1\r\nHost: a:99999999\r\n\r\n"],
  ["a path that is not a valid URL, for a mount", "GET /mounted/\\\\\\a:b@[ HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["headers beyond their limit", `GET /ok HTTP/1.1\r\nHost: a\r\nX: ${"a".repeat(100_000)}\r\n\r\n`],
  ...[
    "status",
    "headers",
    "body",
    "locked",
    "error",
    "later",
    "later-platform",
    "values",
    "readable",
    "readable-later",
    "cancel",
    "thenable",
    "tojson",
    "null",
    "proxy",
    "getter",
    "revoked",
    "revoked-answer",
    "bad-status",
    "throwing",
    "nothing",
  ].flatMap((path) =>
    ["GET", "HEAD"].map((method) => [`${method} /${path}`, `${method} /${path} HTTP/1.1\r\nHost: a\r\n\r\n`] as const),
  ),
];

describe("no request ends the process", () => {
  test.each(["wait", "end", "reset"] as const)(
    "S50 whatever it contains, and however the client disconnects: %s",
    async (how) => {
      const running = await start();
      const failed: string[] = [];
      for (const [name, bytes] of REQUESTS) {
        const sent =
          how === "wait" && !bytes.includes("Connection:")
            ? bytes.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")
            : bytes;
        await send(running.port, sent, name.startsWith("a cut body") && how === "wait" ? "end" : how);
        try {
          await stillAnswers(running);
        } catch (error) {
          failed.push(`${name}: ${error}\n${running.output().slice(-2000)}`);
          break;
        }
      }
      expect(failed).toEqual([]);
    },
  );

  test("S50 a broken response is a 500, or is cut off", async () => {
    const { port } = await start();
    const answerTo = async (path: string) => {
      const answer = await send(port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, "wait", 20_000);
      return `${path} ${answer.slice(9, 12)}`;
    };
    const broken = [
      "status",
      "headers",
      "body",
      "locked",
      "error",
      "values",
      "readable",
      "thenable",
      "tojson",
      "null",
      "proxy",
      "getter",
      "revoked",
      "revoked-answer",
      "throwing",
    ];
    for (const path of broken) expect(await answerTo(`/${path}`)).toBe(`/${path} 500`);
    // A response that has begun is cut off: without the last chunk, clients know that it is incomplete.
    for (const path of ["later", "later-platform", "readable-later"]) {
      const answer = await send(port, `GET /${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, "wait", 20_000);
      expect(answer).not.toMatch(/^HTTP\/1\.1 500|\r\n0\r\n\r\n$/);
    }
  });

  test("S50 a response that throws on any access does not reject a caller's fetch", async () => {
    const throwing = () => {
      return Object.defineProperty(new Response("x"), "headers", {
        get: () => {
          throw new Error("no headers");
        },
      });
    };
    const logger = createLogger(
      { name: "Shop", environment: "production", log: { level: "info", requests: true } },
      { write: () => {} },
    );
    const application = await createApplication({
      environment: { APP_ENV: "test" },
      config: { app: { APP: { log: { requests: true } } } },
      logger,
      routes: [Route.get("/now", throwing), Route.get("/later", async () => throwing())],
    });
    for (const path of ["/now", "/later"]) {
      const answer = await application.fetch(new Request(`http://localhost${path}`, { method: "HEAD" }));
      expect([path, answer.status]).toEqual([path, 500]);
    }
  });
});
