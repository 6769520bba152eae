import { once } from "node:events";
import { Server as HttpServer } from "node:http";
import { type AddressInfo, connect, createServer } from "node:net";
import { performance } from "node:perf_hooks";
import { text } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import { readBody } from "../../../test/support/held-body.ts";
import { rawSocket } from "../../../test/support/raw-socket.ts";
import { createLogger } from "../../boot/log/create-logger.ts";
import {
  CorsMiddleware,
  DEFAULT_BODY_LIMITS,
  originHeaders,
  TrustedOrigins,
  TrustedProxies,
} from "../../http/index.ts";
import { type ConnectionSource, type RunningServer, startServer } from "../server.ts";
import { completeServerSettings, serverSettings } from "../settings.ts";

const MAX_MS = 20;

interface Shop {
  readonly server: RunningServer;
  readonly logged: object[];
  /** The paths of the requests that reached the application. */
  readonly handled: string[];
}

/**
 * Serves an application.
 *
 * @param computes for each path, how many milliseconds the handler computes, or a function to call instead
 */
async function shop(
  maxQueueMs: number,
  computes: number | ((path: string) => void),
  options: Parameters<typeof startServer>[4] = {},
): Promise<Shop> {
  const logged: object[] = [];
  const handled: string[] = [];
  const settings = { name: "x", environment: "test", log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, {
    write(line) {
      const { time, level, app, ...rest } = JSON.parse(line) as Record<string, unknown>;
      logged.push(rest);
    },
  });
  const fetch = async (request: Request) => {
    const { pathname } = new URL(request.url);
    handled.push(pathname);
    if (typeof computes === "number") compute(computes);
    else computes(pathname);
    const body = await readBody(request, DEFAULT_BODY_LIMITS);
    return new Response("bytes" in body ? `got ${Buffer.from(body.bytes!).toString()}` : "done");
  };
  const read = serverSettings({}).read({ port: 0, hostname: "127.0.0.1", maxQueueMs }, "APP.server");
  const complete = completeServerSettings(read, true);
  const server = await startServer(
    { fetch, rescue: () => new Response() },
    complete,
    new TrustedProxies(),
    logger,
    options,
  );
  onTestFinished(() => server.close(0));
  return { server, logged, handled };
}

/** The real time, even while a test has stopped the server's clock. */
const now = performance.now.bind(performance);

function compute(ms: number): void {
  const end = now() + ms;
  while (now() < end);
}

/** Sends requests on one connection, all at once, and returns their responses. */
async function pipelined(
  port: number,
  paths: readonly string[],
  accept = "text/html",
  method = "GET",
): Promise<string[]> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const last = paths.length - 1;
  socket.write(
    paths
      .map((path, index) => {
        const close = index === last ? "Connection: close\r\n" : "";
        return `${method} ${path} HTTP/1.1\r\nHost: a.example\r\nAccept: ${accept}\r\n${close}\r\n`;
      })
      .join(""),
  );
  return (await text(socket)).split(/(?=HTTP\/1\.1 \d)/);
}

const statusOf = (response: string): number => Number(response.slice(9, 12));

/** Makes every turn of the event loop take too long while some work runs. */
async function whileOverloaded<T>(work: () => Promise<T>): Promise<T> {
  let isOver = false;
  const takeLong = (): void => {
    compute(MAX_MS * 3);
    if (!isOver) setImmediate(takeLong);
  };
  setImmediate(takeLong);
  try {
    // The server notices at the end of a turn.
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    return await work();
  } finally {
    isOver = true;
  }
}

/**
 * Stops the clock for waiting times.
 *
 * @returns a function that advances the clock
 */
function stoppedClock(): (ms: number) => void {
  // Whole milliseconds, because rounded sums can be wrong about whether a time has just passed.
  let time = Math.ceil(performance.now());
  const clock = vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => clock.mockRestore());
  return (ms) => {
    time += ms;
  };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await nextTurn();
}

const PATHS = Array.from({ length: 40 }, (_, index) => `/${index}`);

test("S50 while more requests come than can be handled, they are refused with Retry-After before the application sees them", async () => {
  const { server, handled } = await shop(MAX_MS, 10);
  const responses = await whileOverloaded(() => pipelined(server.port, PATHS));
  const refused = responses.filter((response) => statusOf(response) === 503);
  expect(responses).toHaveLength(PATHS.length);
  expect(refused.length).toBeGreaterThan(0);
  // It still works at full capacity: accepted requests are handled.
  expect(handled).toHaveLength(PATHS.length - refused.length);
  expect(handled.length).toBeGreaterThan(0);
  expect(refused[0]!.replace(/Date: .*\r\n/, "")).toBe(
    "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-type: text/plain; charset=utf-8\r\n" +
      "content-length: 46\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\n" +
      `${/Connection: .*\r\n(?:Keep-Alive: .*\r\n)?/.exec(refused[0]!)?.[0]}\r\n` +
      "The server is too busy; try again in a moment.",
  );
});

test("a caller that accepts JSON gets a problem document", async () => {
  const { server } = await shop(MAX_MS, 10);
  const responses = await whileOverloaded(() => pipelined(server.port, PATHS, "application/json"));
  const [refused = ""] = responses.filter((response) => statusOf(response) === 503);
  expect(refused).toContain("content-type: application/problem+json");
  expect(JSON.parse(refused.slice(refused.indexOf("\r\n\r\n")))).toMatchObject({ status: 503, code: "E_OVERLOADED" });
});

test("S106 a trusted origin's page can read when it may try again", async () => {
  const origins = new TrustedOrigins(["https://app.shop.example"]);
  const { server } = await shop(MAX_MS, 10, { origins: originHeaders(new CorsMiddleware(), origins) });
  const refusals = async (origin: string) => {
    const responses = await whileOverloaded(() => pipelined(server.port, PATHS, `text/html\r\nOrigin: ${origin}`));
    return responses.filter((response) => statusOf(response) === 503);
  };
  const [trusted = ""] = await refusals("https://app.shop.example");
  expect(trusted).toMatch(/^access-control-allow-origin: https:\/\/app\.shop\.example\r$/m);
  expect(trusted).toMatch(/^access-control-expose-headers: .*\bRetry-After\b.*\r$/m);
  const [other = ""] = await refusals("https://evil.example");
  expect(other).toMatch(/^vary: Origin\r$/m);
  expect(other).not.toContain("access-control");
});

test("S117 a preflight request of a trusted origin is answered, so that its page learns of the refusal", async () => {
  const origins = originHeaders(new CorsMiddleware(), new TrustedOrigins(["https://app.shop.example"]));
  const { server } = await shop(MAX_MS, 10, { origins });
  const preflights = async (origin: string, method = "OPTIONS") => {
    const fields = `*/*\r\nOrigin: ${origin}\r\nAccess-Control-Request-Method: POST`;
    const responses = await whileOverloaded(() => pipelined(server.port, PATHS, fields, method));
    // The application responds to accepted requests with 200.
    return responses.filter((response) => statusOf(response) !== 200);
  };
  // Unlike a refusal, this response isn't held back.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const trusted = await preflights("https://app.shop.example");
  vi.useRealTimers();
  expect(new Set(trusted.map(statusOf))).toEqual(new Set([204]));
  expect(trusted[0]).toMatch(/^access-control-allow-methods: GET, HEAD, POST, PUT, PATCH, DELETE\r$/m);
  expect(trusted[0]).not.toMatch(/content-length|transfer-encoding/i);
  expect(new Set((await preflights("https://evil.example")).map(statusOf))).toEqual(new Set([503]));
  expect(new Set((await preflights("https://app.shop.example", "GET")).map(statusOf))).toEqual(new Set([503]));
});

test("S50 health checks are never refused", async () => {
  const { server, handled } = await shop(MAX_MS, 10);
  const health = ["/up", "/ready", "/up?from=nginx", "/ready"];
  const responses = await whileOverloaded(() => pipelined(server.port, [...PATHS, ...health]));
  expect(responses.slice(-health.length).map(statusOf)).toEqual([200, 200, 200, 200]);
  expect(handled.filter((path) => !PATHS.includes(path))).toEqual(["/up", "/ready", "/up", "/ready"]);
  expect(statusOf(responses[PATHS.length - 1]!)).toBe(503);
});

test("S150 an overload logs one line when it begins, and one with the number of refusals when it is over", async () => {
  const { server, logged } = await shop(MAX_MS, 10);
  let refused = 0;
  await whileOverloaded(async () => {
    for (let round = 0; round < 3; round++) {
      const responses = await pipelined(server.port, PATHS);
      refused += responses.filter((response) => statusOf(response) === 503).length;
    }
  });
  await server.close(0);
  expect(logged.at(-1)).toEqual({
    msg: "Requests were refused with 503, because there were too many. That is over.",
    refused,
    waitedMs: expect.any(Number),
    seconds: expect.any(Number),
  });
  expect(logged.length).toBeLessThanOrEqual(2);
});

test("once the event loop is on time again, every request is accepted", async () => {
  const { server, handled } = await shop(MAX_MS, 10);
  await whileOverloaded(() => pipelined(server.port, PATHS));
  await expect
    .poll(async () => {
      handled.length = 0;
      const responses = await pipelined(server.port, ["/a", "/b"]);
      return responses.map(statusOf);
    })
    .toEqual([200, 200]);
});

test("S50 a burst refuses nothing for half of the limit, and requests that still wait then are refused", async () => {
  const pass = stoppedClock();
  const { server, handled } = await shop(1000, () => pass(10));
  const paths = Array.from({ length: 100 }, (_, index) => `/${index}`);
  const statuses = (await pipelined(server.port, paths)).map(statusOf);
  // The queue is too long once its first request has waited for 100 ms, and may stay too long for 500 ms.
  expect(statuses.indexOf(503)).toBeGreaterThan(55);
  // There are so few left that each is handled.
  expect(new Set(statuses.slice(statuses.indexOf(503), -16))).toEqual(new Set([503]));
  expect(handled.length).toBe(statuses.filter((status) => status === 200).length);
});

test("S150 refusals are held back for a quarter of the limit", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const pass = stoppedClock();
  let refused = 0;
  const { server, handled } = await shop(1000, () => pass(10), { refused: () => refused++ });
  const paths = Array.from({ length: 100 }, (_, index) => `/${index}`);
  const answers = rawSocket(server.port, paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(""));
  await until(() => handled.length + refused === paths.length);
  expect(refused).toBeGreaterThan(0);
  const arrived = () => answers.received().split("HTTP/1.1 503 ").length - 1;
  /** Waits until everything that was sent has arrived. */
  const others = async () => {
    for (let count = 0; count < 3; count++)
      expect((await pipelined(server.port, ["/up"])).map(statusOf)).toEqual([200]);
  };
  await others();
  vi.advanceTimersByTime(249);
  await others();
  expect(arrived()).toBe(0);
  vi.advanceTimersByTime(1);
  await until(() => arrived() === refused);
});

test("S50 a few requests that take long are not an overload, until they have waited for the whole limit", async () => {
  const pass = stoppedClock();
  const { server } = await shop(1000, () => pass(200));
  const statuses = (await pipelined(server.port, PATHS.slice(0, 12))).map(statusOf);
  expect(statuses.slice(0, 6)).toEqual(Array(6).fill(200));
  expect(statuses.at(-1)).toBe(503);
});

test("one long turn with few requests is not an overload", async () => {
  const pass = stoppedClock();
  const { server, logged } = await shop(1000, (path) => {
    if (path === "/long") pass(5000);
  });
  // Both requests arrive together, and the second one is checked after the first one has been handled.
  expect((await pipelined(server.port, ["/long", "/next"])).map(statusOf)).toEqual([200, 200]);
  expect(logged).toEqual([]);
});

const EXPECTING = "POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n";

/** Requests that take 10 ms each. With a limit of 20 ms, the requests after the first few have waited too long. */
const TOO_MANY = PATHS.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join("");

test("a client that asks first gets permission to send its body, unless the server is overloaded", async () => {
  const pass = stoppedClock();
  const { server, handled } = await shop(MAX_MS, (path) => {
    if (path !== "/form") pass(10);
  });
  const accepted = rawSocket(server.port, EXPECTING);
  await until(() => accepted.received() === "HTTP/1.1 100 Continue\r\n\r\n");
  accepted.socket.write("body");
  await until(() => accepted.received().includes("got body"));
  accepted.socket.destroy();
  handled.length = 0;
  const refused = rawSocket(server.port, TOO_MANY + EXPECTING);
  await until(() => refused.received().split("try again in a moment.").length > PATHS.length - handled.length + 1);
  expect(refused.received()).toMatch(/HTTP\/1\.1 503 [\s\S]*Connection: close\r\n/i);
  expect([refused.received().includes("100 Continue"), handled.includes("/form")]).toEqual([false, false]);
  // If it sends the body anyway, the bytes aren't taken for a request.
  const before = handled.length;
  refused.socket.write("bodyGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  await refused.closed;
  expect(handled).toHaveLength(before);
});

test("S61 a client whose body is refused can read the reason, even if it sends the complete body", async () => {
  const pass = stoppedClock();
  const { server } = await shop(MAX_MS, () => pass(10));
  const head = "POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n";
  const { received, socket, closed } = rawSocket(server.port, TOO_MANY + head);
  socket.pause();
  await new Promise<void>((resolve) => socket.write("x".repeat(8_000_000), () => resolve()));
  socket.resume();
  await closed;
  expect(received()).toMatch(/HTTP\/1\.1 503 [\s\S]*Connection: close\r\n[\s\S]*try again in a moment\.$/i);
});

test("requests that waited too long before the server was idle don't count", async () => {
  const pass = stoppedClock();
  const given = Promise.withResolvers<Parameters<ConnectionSource["receive"]>[0]>();
  const source = { port: 3000, socket: null, receive: given.resolve, close: async () => {} };
  await shop(1000, () => pass(10), { source });
  const take = await given.promise;
  let ageMs = 200;
  const listening = createServer((socket) => take(socket, performance.now() - ageMs));
  listening.listen(0, "127.0.0.1");
  await once(listening, "listening");
  onTestFinished(() => void listening.close());
  const { port } = listening.address() as AddressInfo;
  // It is handled. With more requests like it, it would be an overload after 500 ms.
  expect((await pipelined(port, ["/0"])).map(statusOf)).toEqual([200]);
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  pass(600);
  ageMs = 150;
  const answers = await Promise.all(PATHS.map((path) => pipelined(port, [path])));
  expect(new Set(answers.flat().map(statusOf))).toEqual(new Set([200]));
});

test("a request whose client has left while it waited is not handled", async () => {
  const pass = stoppedClock();
  const gone = Promise.withResolvers<void>();
  const { server, handled } = await shop(1000, (path) => {
    if (path !== "/first") return;
    // Its turn is over, so requests that arrive with it wait.
    pass(20);
    left.socket.resetAndDestroy();
  });
  const left = rawSocket(server.port, `GET /first HTTP/1.1\r\nHost: a\r\n\r\nGET /second HTTP/1.1\r\nHost: a\r\n\r\n`);
  left.socket.once("close", () => gone.resolve());
  await gone.promise;
  await pipelined(server.port, ["/last"]);
  expect(handled).toEqual(["/first", "/last"]);
});

/** Opens this many connections and sends a request on each, while the server's thread is blocked. */
const CLIENTS = `
const { connect } = require("node:net");
const { parentPort, workerData: { port, flag, connections } } = require("node:worker_threads");
let sent = 0;
const answers = Array.from({ length: connections }, (_, index) => new Promise((resolve) => {
  let received = "";
  const socket = connect(port, "127.0.0.1", () => socket.write("GET /" + index + " HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n", () => {
    if (++sent < connections) return;
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
  }));
  socket.on("data", (data) => (received += data));
  socket.on("close", () => resolve(received.slice(9, 12)));
}));
Promise.all(answers).then((all) => parentPort.postMessage(all));
`;

test("S150 all connections that wait to be accepted are accepted before more requests are handled, and count as waiting", async () => {
  const connections = 200;
  const pass = stoppedClock();
  const before: number[] = [];
  const shopping = await shop(100, () => {
    pass(10);
    before.push(accepted());
  });
  const { server } = shopping;
  const emit = vi.spyOn(HttpServer.prototype, "emit");
  onTestFinished(() => emit.mockRestore());
  const accepted = () => emit.mock.calls.filter(([event]) => event === "connection").length;
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const clients = new Worker(CLIENTS, { eval: true, workerData: { port: server.port, flag, connections } });
  onTestFinished(async () => void (await clients.terminate()));
  const answers = once(clients, "message");
  await once(clients, "online");
  // Blocks the server's thread until all clients have connected and sent a request.
  expect(Atomics.wait(flag, 0, 0, 30_000)).not.toBe("timed-out");
  const [statuses] = (await answers) as [string[]];
  expect(before[1]).toBeGreaterThanOrEqual(connections - 1);
  // The burst may take 50 ms; after that, requests that have waited for more than 10 ms are refused.
  expect(statuses.filter((status) => status === "200").length).toBeLessThan(12);
  expect(statuses.filter((status) => status !== "200" && status !== "503")).toEqual([]);
});

test("the limit is a second in production, and there is no limit elsewhere", () => {
  const read = serverSettings({}).read({}, "APP.server");
  expect([true, false].map((isProduction) => completeServerSettings(read, isProduction).maxQueueMs)).toEqual([1000, 0]);
});

test("0 refuses nothing", async () => {
  const { server, handled } = await shop(0, 5);
  await whileOverloaded(() => pipelined(server.port, PATHS));
  expect(handled).toHaveLength(PATHS.length);
});
