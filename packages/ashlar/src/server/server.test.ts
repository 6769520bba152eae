import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { type AddressInfo, connect, Server, type Socket } from "node:net";
import { join } from "node:path";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { builtModule } from "../../test/support/built-module.ts";
import { folderWith } from "../../test/support/temporary-folder.ts";
import type { Application } from "../boot/application/application.ts";
import { createApplication } from "../boot/application/create-application.ts";
import { createLogger } from "../boot/log/create-logger.ts";
import { RefusalLog } from "../kernel/index.ts";
import { Route } from "../routing/index.ts";
import { generateSecret } from "../security/index.ts";
import { AshlarError, ConfigurationError } from "../support/index.ts";
import type { ConnectionSource, RunningServer } from "./server.ts";

const open: Application[] = [];
/**
 * The first promise resolves when a request for `/slow` is being handled. Resolving the second one lets the request
 * finish.
 */
let begun: PromiseWithResolvers<void>;
let released: PromiseWithResolvers<void>;
const clients: (string | null)[] = [];
const sockets: Socket[] = [];
const children: ChildProcess[] = [];

beforeEach(() => {
  begun = Promise.withResolvers();
  released = Promise.withResolvers();
});

afterEach(async () => {
  released.resolve();
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await Promise.all(open.splice(0).map((application) => application.shutdown()));
});

async function serve(
  server: Record<string, unknown> = {},
  app: Record<string, unknown> = {},
  source: { readonly source?: ConnectionSource } = {},
) {
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    config: { app: { APP: { ...app, server: { hostname: "127.0.0.1", ...server } } } },
    routes: [
      Route.get("/", () => "hello"),
      Route.get("/counted", ({ request }) => {
        clients.push(request.remoteAddress);
        return "counted";
      }),
      Route.post("/echo", ({ request }) => ({ all: request.all(), ip: request.remoteAddress })),
      Route.get("/slow", async () => {
        begun.resolve();
        await released.promise;
        return "slow";
      }),
      Route.get("/url", ({ request }) => ({
        url: request.raw.url,
        ip: request.remoteAddress,
        client: request.clientAddress,
      })),
      Route.get("/stream", ({ response }) => response.stream(new Blob(["a".repeat(100_000)]).stream())),
    ],
  });
  open.push(application);
  return { application, server: await application.listen({ port: 0, handleSignals: false, ...source }) };
}

function dial({ port }: RunningServer, text = ""): { socket: Socket; received: () => string; closed: Promise<string> } {
  const socket = connect(port, "127.0.0.1");
  sockets.push(socket);
  let received = "";
  socket.on("data", (data) => (received += String(data)));
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  socket.on("close", () => resolve(received)).on("error", () => {});
  socket.write(text);
  return { socket, received: () => received, closed };
}

/** Whether a port refuses connections. */
function isRefused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(false)).once("error", () => resolve(true));
    socket.once("connect", () => socket.destroy());
  });
}

/** Waits until a condition holds. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(1);
}

describe("serving", () => {
  test("responds over a socket, keeps the connection alive, and reports its URL", async () => {
    const { server } = await serve();
    expect(server.url).toBe(`http://127.0.0.1:${server.port}/`);
    const { received, closed } = dial(
      server,
      "GET / HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\nOPTIONS / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    );
    await closed;
    const [first, head, options] = received().split(/(?=HTTP\/1\.1)/);
    expect(first).toMatch(/^HTTP\/1\.1 200 OK\r\n(?=.*content-length: 5\r\n).*\r\n\r\nhello$/is);
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n(?=.*content-length: 5\r\n).*\r\n\r\n$/is);
    expect(options).toMatch(/^HTTP\/1\.1 204 No Content\r\n(?=.*allow: GET, HEAD, OPTIONS\r\n)/is);
  });

  test("listens on all addresses by default", async () => {
    const application = await createApplication({
      environment: { APP_ENV: "test", HOST: "" },
      routes: [Route.get("/", () => "x")],
    });
    open.push(application);
    const server = await application.listen({ port: 0, handleSignals: false });
    expect(server.url).toBe(`http://localhost:${server.port}/`);
    expect(await (await fetch(`http://127.0.0.1:${server.port}/`)).text()).toBe("x");
  });

  test("S53 a request whose client hung up before it was accepted is not handled: limits would not know its address", async () => {
    const { server } = await serve();
    const script = `
      const socket = require("node:net").connect(${server.port}, "127.0.0.1", () =>
        socket.write("GET /counted HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n", () => socket.resetAndDestroy()));`;
    // `execFileSync` blocks the server until the client has ended.
    for (let client = 0; client < 5; client++) execFileSync(process.execPath, ["-e", script]);
    await fetch(`${server.url}counted`);
    expect(clients.splice(0)).toEqual(["127.0.0.1"]);
  });

  test("a body arrives complete, whether sent at once or in pieces", async () => {
    const { server } = await serve();
    const response = await fetch(`${server.url}echo?q=1`, { method: "POST", body: new URLSearchParams({ a: "b" }) });
    expect(await response.json()).toEqual({ all: { q: "1", a: "b" }, ip: "127.0.0.1" });
    const pieces = dial(
      server,
      "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    for (const piece of ['{"a"', ":[1,", "2]}"]) {
      pieces.socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
      await sleep(5);
    }
    pieces.socket.write("0\r\n\r\n");
    expect(await pieces.closed).toContain('{"all":{"a":[1,2]},"ip":"127.0.0.1"}');
  });

  test("S42 a body that is too large gets a 413, whether sent at once or in pieces", async () => {
    const { server } = await serve({}, { limits: { maxBodyBytes: 1000 } });
    const response = await fetch(`${server.url}echo`, {
      method: "POST",
      body: JSON.stringify("x".repeat(5000)),
      headers: { "content-type": "application/json" },
    });
    expect([response.status, await response.json()]).toEqual([
      413,
      expect.objectContaining({ code: "E_PAYLOAD_TOO_LARGE" }),
    ]);
    const endless = dial(
      server,
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    for (let index = 0; index < 20; index++) endless.socket.write(`64\r\n${"x".repeat(100)}\r\n`);
    expect(await endless.closed).toMatch(/^HTTP\/1\.1 413 /);
  });

  test("headers beyond the limit are refused by the server", async () => {
    const { server } = await serve({ maxHeaderBytes: 2048 });
    expect(await dial(server, `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${"a".repeat(3000)}\r\n\r\n`).closed).toMatch(
      /^HTTP\/1\.1 431 /,
    );
  });

  test("S40 forwarded headers are trusted only from a configured proxy", async () => {
    const headers = {
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "https",
      "x-forwarded-for": "203.0.113.9",
    };
    const { server } = await serve();
    const plain = (await (await fetch(`${server.url}url`, { headers })).json()) as unknown;
    expect(plain).toEqual({ url: `http://127.0.0.1:${server.port}/url`, ip: "127.0.0.1", client: "127.0.0.1" });
    const { server: behind } = await serve({}, { trustedProxies: ["127.0.0.1"] });
    expect(await (await fetch(`${behind.url}url`, { headers })).json()).toEqual({
      url: "https://evil.example/url",
      ip: "127.0.0.1",
      client: "203.0.113.9",
    });
  });

  test("a port that is in use causes an error that suggests another", async () => {
    const { server, application } = await serve();
    await expect(application.listen({ port: server.port, handleSignals: false })).rejects.toEqual(
      new ConfigurationError(
        `Port ${server.port}`,
        "Another program is using it.",
        `Choose another: PORT=${server.port + 1}`,
      ),
    );
    await expect(application.listen({ port: 0, hostname: "192.0.2.1", handleSignals: false })).rejects.toBeInstanceOf(
      AshlarError,
    );
  });
});

describe("S50 slow clients do not block others", () => {
  test("S50 headers that never end are cut off with 408", async () => {
    const { server } = await serve({ headersTimeoutSeconds: 0.3, requestTimeoutSeconds: 0.6 });
    const slow = dial(server, "GET / HTTP/1.1\r\nHost: a\r\n");
    const drip = setInterval(() => slow.socket.writable && slow.socket.write("X-A: b\r\n"), 50);
    expect(await slow.closed).toMatch(/^HTTP\/1\.1 408 /);
    clearInterval(drip);
  });

  test("S50 a request that does not come in completely in time is logged with 408, and not as aborted by the client", async () => {
    const logged: Record<string, unknown>[] = [];
    const log = { name: "Shop", environment: "test", log: { level: "info", requests: true } } as const;
    const application = await createApplication({
      environment: { APP_ENV: "test" },
      config: {
        app: {
          APP: { log: log.log, server: { hostname: "127.0.0.1", headersTimeoutSeconds: 1, requestTimeoutSeconds: 1 } },
        },
      },
      routes: [Route.post("/echo", ({ request }) => ({ all: request.all() }))],
      logger: createLogger(log, { write: (line) => void logged.push(JSON.parse(line)) }),
    });
    const server = await application.listen({ port: 0, handleSignals: false });
    const half = dial(server, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{");
    expect(await half.closed).toMatch(/^HTTP\/1\.1 408 /);
    await application.shutdown();
    expect(logged.filter(({ path }) => path === "/echo")).toMatchObject([{ status: 408 }]);
  });

  test("S50 neither a body that never ends nor one that breaks off affects other clients", async () => {
    // Long enough that the other clients aren't cut off on a busy machine.
    const { server } = await serve({ headersTimeoutSeconds: 3, requestTimeoutSeconds: 3 });
    const half = dial(
      server,
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    );
    const broken = dial(
      server,
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    );
    await sleep(50);
    broken.socket.destroy();
    expect(await (await fetch(server.url)).text()).toBe("hello");
    expect(await half.closed).toMatch(/^(HTTP\/1\.1 408 .*)?$/s);
    expect(await (await fetch(server.url)).text()).toBe("hello");
  });

  test("S50 the server still responds with a thousand idle connections and half requests", async () => {
    const { server } = await serve();
    const idle = Array.from({ length: 1000 }, (_, index) => {
      const half = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n1";
      return dial(server, ["", "GET / HTTP/1.1\r\n", half][index % 3]);
    });
    await Promise.all(
      idle.map(
        ({ socket }) => new Promise((resolve) => (socket.connecting ? socket.once("connect", resolve) : resolve(null))),
      ),
    );
    for (let index = 0; index < 50; index++) expect(await (await fetch(server.url)).text()).toBe("hello");
  });

  test("S50 a client that does not read does not block others", async () => {
    const { server } = await serve();
    const lazy = dial(server);
    lazy.socket.pause();
    for (let index = 0; index < 50; index++) lazy.socket.write("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    await sleep(20);
    expect(await (await fetch(server.url)).text()).toBe("hello");
  });

  test("S50 an idle connection is closed after its timeout", async () => {
    const { server } = await serve({ keepAliveTimeoutSeconds: 0.2 });
    expect(await dial(server, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").closed).toContain("hello");
  });

  test("S50 clients learn how long an idle connection stays open", async () => {
    const { server } = await serve({ keepAliveTimeoutSeconds: 7 });
    const { headers } = await fetch(server.url);
    expect([headers.get("connection"), headers.get("keep-alive")]).toEqual(["keep-alive", "timeout=7"]);
  });

  test("S50 how often slow headers are checked for depends on how long they may take", async () => {
    const { server } = await serve({ headersTimeoutSeconds: 0.3, requestTimeoutSeconds: 60 });
    const slow = dial(server, "GET / HTTP/1.1\r\nHost: a\r\n");
    // Both timers are in the same event loop, so a busy machine delays them equally.
    const first = Promise.race([slow.closed, sleep(3000, "nothing within ten times as long")]);
    expect(await first).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("S50 connections beyond the limit are closed at once, and accepted again when others have ended", async () => {
    const { server } = await serve({ maxConnections: 2 });
    const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const taken = [dial(server, request), dial(server, request)];
    await Promise.all(taken.map(({ socket }) => once(socket, "data")));
    expect(await dial(server, request).closed).toBe("");
    for (const { socket } of taken) socket.end();
    expect(await Promise.all(taken.map(({ closed }) => closed))).toEqual(
      Array(2).fill(expect.stringContaining("hello")),
    );
    expect(await (await fetch(server.url)).text()).toBe("hello");
  });

  test("S14 a header that may occur once is ignored if it occurs twice, and a second Host is refused", async () => {
    const application = await createApplication({
      environment: { APP_ENV: "test" },
      routes: [
        Route.post("/", ({ request }) => [request.bearerToken(), request.header("content-type"), request.all()]),
      ],
    });
    open.push(application);
    const server = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
    const post = (...headers: string[]) => {
      const lines = [...headers, "Content-Length: 7", "Connection: close"].join("\r\n");
      return dial(server, `POST / HTTP/1.1\r\n${lines}\r\n\r\n{"a":1}`).closed;
    };
    expect(await post("Host: a", "Authorization: Bearer x", "Content-Type: application/json")).toContain(
      '["x","application/json",{"a":1}]',
    );
    const twice = ["Authorization: Bearer x", "Authorization: Bearer x", "Content-Type: application/json"];
    expect(await post("Host: a", ...twice, "Content-Type: text/plain")).toContain(
      '[null,"application/json, text/plain",{}]',
    );
    expect(await post("Host: a", "Host: b")).toMatch(/^HTTP\/1\.1 400 Bad Request/);
    expect(await post("Host: a", "Host: a")).toMatch(/^HTTP\/1\.1 400 Bad Request/);
  });

  test("S50 invalid HTTP is refused and does not crash the server", async () => {
    const { server } = await serve();
    for (const text of [
      "\0\0\0\0",
      "GET\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n",
    ]) {
      const { socket, closed } = dial(server, text);
      setTimeout(() => socket.end(), 50);
      expect([text, /^HTTP\/1\.1 (400|505) /.test(await closed)]).toEqual([text, true]);
    }
    const smuggled =
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG";
    expect(await dial(server, smuggled).closed).toMatch(/^HTTP\/1\.1 400 /);
    expect(await (await fetch(server.url)).text()).toBe("hello");
  });
});

test("S50 a connection that the system cannot accept is logged, and the server continues", async () => {
  const lines: string[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "error", requests: false } } as const;
  const application = await createApplication({
    logger: createLogger(settings, { write: (line) => void lines.push(JSON.parse(line).msg) }),
    environment: { APP_ENV: "development", APP_KEY: generateSecret() },
    routes: [Route.get("/", () => "hello")],
  });
  open.push(application);
  const { port, url } = await application.listen({ port: 0, handleSignals: false });
  // The system's error for too many open files. Really running out of them would break other tests.
  const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles();
  const listening = handles.filter(
    (handle): handle is Server => handle instanceof Server && (handle.address() as AddressInfo | null)?.port === port,
  );
  expect(listening.length).toBeGreaterThan(0);
  for (const server of listening) server.emit("error", new Error("accept ENFILE"));
  expect(lines).toEqual(listening.map(() => "A connection could not be accepted."));
  expect(await (await fetch(url)).text()).toBe("hello");
});

describe("shutdown", () => {
  test("S50 running requests finish, new connections are refused, and idle connections are closed", async () => {
    const { application, server } = await serve();
    const silent = dial(server);
    const agent = new Agent({ keepAlive: true });
    await new Promise((resolve) =>
      request(server.url, { agent }, (response) => response.resume().on("end", resolve)).end(),
    );
    const slow = fetch(`${server.url}slow`);
    await begun.promise;
    const stopped = application.shutdown();
    await until(() => isRefused(server.port));
    expect(await silent.closed).toBe("");
    released.resolve();
    const response = await slow;
    expect([response.status, response.headers.get("connection"), await response.text()]).toEqual([
      200,
      "close",
      "slow",
    ]);
    await stopped;
    agent.destroy();
  });

  test("S50 requests that take too long are cut off when the time is up", async () => {
    const { application, server } = await serve({ shutdownTimeoutSeconds: 0.2 });
    const endless = fetch(`${server.url}slow`).catch((error: unknown) => error);
    await begun.promise;
    // The handler never ends.
    await application.shutdown();
    expect(await endless).toBeInstanceOf(Error);
  });

  test("S50 a server whose connections come from another process reports its refusals once they have closed", async () => {
    const stop = vi.spyOn(RefusalLog.prototype, "stop");
    onTestFinished(() => stop.mockRestore());
    const last = Promise.withResolvers<void>();
    const source = { port: 3000, socket: null, receive: () => {}, close: () => last.promise };
    const { server } = await serve({ maxQueueMs: 1000 }, {}, { source });
    const closed = server.close();
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(stop).not.toHaveBeenCalled();
    last.resolve();
    await closed;
    expect(stop).toHaveBeenCalledOnce();
  });

  test("a server can be closed without its application, and twice", async () => {
    const { application, server } = await serve();
    await server.close();
    await server.close();
    await expect(fetch(server.url)).rejects.toThrow();
    expect((await application.fetch(new Request("http://localhost/"))).status).toBe(200);
  });
});

describe("signals", () => {
  const script = `import { createApplication, Provider, Route } from ${JSON.stringify(builtModule("index"))};
class Loud extends Provider {
  async shutdown() {
    await new Promise((resolve) => setTimeout(resolve, 50));
    console.log("provider down");
  }
}
const application = await createApplication({
  providers: [Loud],
  environment: { APP_ENV: "test" },
  routes: [Route.get("/slow", async () => {
    const released = new Promise((resolve) => process.once("SIGUSR2", resolve));
    console.log("slow begun");
    await released;
    return "finished";
  })],
});
const server = await application.listen({ port: 0, hostname: "127.0.0.1" });
setInterval(() => {}, 1000);
console.log("port " + server.port);
`;

  async function start(): Promise<{
    child: ChildProcess;
    port: string;
    output: () => string;
    ended: Promise<unknown[]>;
  }> {
    const file = join(folderWith({ "app.ts": script }), "app.ts");
    const child = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    children.push(child);
    const { promise: port, resolve, reject } = Promise.withResolvers<string>();
    child.stdout!.on("data", (data) => {
      output += String(data);
      const found = /port (\d+)/.exec(output);
      if (found) resolve(found[1]!);
    });
    // The output has been read to the end.
    const ended = new Promise<unknown[]>((done) => child.on("close", (code, signal) => done([code, signal])));
    void ended.then((how) => reject(new Error(`The script ended by itself: ${how.join()}`)));
    return { child, port: await port, output: () => output, ended };
  }

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "S50 %s finishes the running request, shuts the providers down, and exits with 0",
    async (signal) => {
      const { child, port, output, ended } = await start();
      const slow = fetch(`http://127.0.0.1:${port}/slow`);
      await until(() => output().includes("slow begun"));
      child.kill(signal);
      await until(() => isRefused(Number(port)));
      child.kill("SIGUSR2");
      expect(await (await slow).text()).toBe("finished");
      expect(await ended).toEqual([0, null]);
      expect(output()).toBe(`port ${port}\nslow begun\nprovider down\n`);
    },
  );

  test("a second signal ends the process at once", async () => {
    const { child, port, output, ended } = await start();
    const slow = fetch(`http://127.0.0.1:${port}/slow`).catch((error: unknown) => error);
    await until(() => output().includes("slow begun"));
    child.kill("SIGTERM");
    // Waits until the process has handled the first signal. Otherwise, the system could merge the two.
    await until(() => isRefused(Number(port)));
    child.kill("SIGTERM");
    expect(await ended).toEqual([null, "SIGTERM"]);
    expect(await slow).toBeInstanceOf(Error);
  });
});
