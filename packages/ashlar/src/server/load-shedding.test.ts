import { once } from "node:events";
import { connect } from "node:net";
import { performance } from "node:perf_hooks";
import { text } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { rawSocket } from "../../test/support/raw-socket.ts";
import { createLogger } from "../boot/create-logger.ts";
import { readBody } from "../http/body.ts";
import { CorsMiddleware, DEFAULT_BODY_LIMITS, originHeaders, TrustedOrigins, TrustedProxies } from "../http/index.ts";
import { type RunningServer, startServer } from "./server.ts";
import { completeServerSettings, serverSettings } from "./settings.ts";

const MAX_MS = 20;

interface Shop {
  readonly server: RunningServer;
  readonly logged: string[];
  /** The paths of the requests that reached the application. */
  readonly handled: string[];
}

/**
 * Serves an application.
 *
 * @param computes for how many milliseconds each response computes, or what it does instead, by path
 */
async function shop(
  maxQueueMs: number,
  computes: number | ((path: string) => void),
  options: Parameters<typeof startServer>[4] = {},
): Promise<Shop> {
  const logged: string[] = [];
  const handled: string[] = [];
  const settings = { name: "x", environment: "test", log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, { write: (line) => void logged.push(String(JSON.parse(line).msg)) });
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

/** The time that passes, also while a test has stopped the server's clock. */
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

/** Makes every turn of the event loop take too long from now on, while some work runs. */
async function whileOverloaded<T>(work: () => Promise<T>): Promise<T> {
  let isOver = false;
  const takeLong = (): void => {
    compute(MAX_MS * 3);
    if (!isOver) setImmediate(takeLong);
  };
  setImmediate(takeLong);
  try {
    // The server notices when a turn has ended.
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    return await work();
  } finally {
    isOver = true;
  }
}

interface StoppedClock {
  readonly pass: (ms: number) => void;
  /** Ends the turn that is being measured. */
  readonly look: () => void;
}

/** Stops the clock by which the server is late. `expect.poll` would wait by it as well. */
function stoppedClock(): StoppedClock {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  // Whole milliseconds: sums of others are rounded, and a time that has just passed may seem not to, or the other way around.
  let time = Math.ceil(performance.now());
  const clock = vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => {
    clock.mockRestore();
    vi.useRealTimers();
  });
  const pass = (ms: number): void => {
    time += ms;
  };
  return { pass, look: () => void vi.advanceTimersByTime(100) };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await nextTurn();
}

const PATHS = Array.from({ length: 40 }, (_, index) => `/${index}`);

test("S50 while the event loop is late, requests are refused with Retry-After before the application sees them", async () => {
  const { server, handled } = await shop(MAX_MS, 10);
  const responses = await whileOverloaded(() => pipelined(server.port, PATHS));
  const refused = responses.filter((response) => statusOf(response) === 503);
  expect(responses).toHaveLength(PATHS.length);
  expect(refused.length).toBeGreaterThan(0);
  // It still does what it can: those that are accepted are handled.
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

test("S106 a page of a trusted origin can read when it may try again", async () => {
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
    // Those that are accepted are the application's, which says 200.
    return responses.filter((response) => statusOf(response) !== 200);
  };
  const trusted = await preflights("https://app.shop.example");
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
  expect(handled.slice(-health.length)).toEqual(["/up", "/ready", "/up", "/ready"]);
  expect(statusOf(responses[PATHS.length - 1]!)).toBe(503);
});

test("an episode is one line in the log", async () => {
  const { server, logged } = await shop(MAX_MS, 10);
  await whileOverloaded(async () => {
    for (let round = 0; round < 3; round++) await pipelined(server.port, PATHS);
  });
  expect(logged).toEqual([
    expect.stringMatching(
      /^The event loop is \d+ ms late, more than maxQueueMs \(20\)\. Requests are refused with 503/,
    ),
  ]);
});

test("once the event loop is on time again, every request is accepted", async () => {
  const { server, handled, logged } = await shop(MAX_MS, 10);
  await whileOverloaded(() => pipelined(server.port, PATHS));
  expect(logged).toHaveLength(1);
  await expect
    .poll(async () => {
      handled.length = 0;
      const responses = await pipelined(server.port, ["/a", "/b"]);
      return responses.map(statusOf);
    })
    .toEqual([200, 200]);
});

test("S50 one turn with a great many requests is an overload, even if the last one was not", async () => {
  // Time passes for nothing else: on a busy machine, the turn before may be late by itself.
  const { pass } = stoppedClock();
  const { server, handled } = await shop(MAX_MS, () => pass(10));
  const responses = await pipelined(server.port, PATHS);
  expect([responses[0], responses.at(-1)].map((response) => statusOf(response!))).toEqual([200, 503]);
  expect(handled.length).toBeLessThan(PATHS.length);
});

test("one long turn with few requests is not an overload", async () => {
  const { pass } = stoppedClock();
  const { server, logged } = await shop(1000, (path) => {
    if (path === "/long") pass(5000);
  });
  // They arrive together, and the second one is looked at when the first has taken its time.
  expect((await pipelined(server.port, ["/long", "/next"])).map(statusOf)).toEqual([200, 200]);
  expect(logged).toEqual([]);
});

test("a new episode is logged again, once nothing has been refused for ten seconds", async () => {
  const { pass, look } = stoppedClock();
  const { server, logged } = await shop(2000, (path) => {
    if (path === "/0") pass(2500);
  });
  const overload = async () => {
    const responses = await pipelined(server.port, PATHS);
    expect([responses[0], responses.at(-1)].map((response) => statusOf(response!))).toEqual([200, 503]);
    for (let turn = 0; turn < 2; turn++) look();
  };
  for (let count = 0; count < 6; count++) await overload();
  expect(logged).toHaveLength(1);
  pass(7500);
  look();
  look();
  await overload();
  expect(logged).toHaveLength(1);
  pass(7501);
  look();
  look();
  await overload();
  expect(logged).toHaveLength(2);
});

const EXPECTING = "POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n";

test("a client that asks first is told to send its body, unless the server is overloaded", async () => {
  const { pass } = stoppedClock();
  const { server, handled } = await shop(1000, (path) => {
    if (path === "/0") pass(5000);
  });
  const accepted = rawSocket(server.port, EXPECTING);
  await until(() => accepted.received() === "HTTP/1.1 100 Continue\r\n\r\n");
  accepted.socket.write("body");
  await until(() => accepted.received().includes("got body"));
  accepted.socket.destroy();
  handled.length = 0;
  // With the first one, as many as a turn accepts, however long it takes.
  const requests = PATHS.slice(0, 15).map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const refused = rawSocket(server.port, requests.join("") + EXPECTING);
  await until(() => refused.received().endsWith("try again in a moment."));
  expect(refused.received()).toMatch(/HTTP\/1\.1 503 [\s\S]*Connection: close\r\n/i);
  expect([refused.received().includes("100 Continue"), handled]).toEqual([false, PATHS.slice(0, 15)]);
  // What it sends all the same is not taken for a request.
  refused.socket.write("bodyGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  await refused.closed;
  expect(handled).toHaveLength(15);
});

test("S61 a client whose body is refused can read why, even if it sends all of it", async () => {
  const { pass } = stoppedClock();
  const { server } = await shop(1000, (path) => {
    if (path === "/0") pass(5000);
  });
  const requests = PATHS.slice(0, 16).map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const head = "POST /form HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n";
  const { received, socket, closed } = rawSocket(server.port, requests.join("") + head);
  socket.pause();
  await new Promise<void>((resolve) => socket.write("x".repeat(8_000_000), () => resolve()));
  socket.resume();
  await closed;
  expect(received()).toMatch(/HTTP\/1\.1 503 [\s\S]*Connection: close\r\n[\s\S]*try again in a moment\.$/i);
});

test("a closed server no longer looks at the event loop", async () => {
  stoppedClock();
  const { server } = await shop(1000, 0);
  await server.close(0);
  expect(vi.getTimerCount()).toBe(0);
});

test("the limit is a second in production, and there is none elsewhere", () => {
  const read = serverSettings({}).read({}, "APP.server");
  expect([true, false].map((isProduction) => completeServerSettings(read, isProduction).maxQueueMs)).toEqual([
    1000, 0,
  ]);
});

test("0 refuses nothing", async () => {
  const { server, handled } = await shop(0, 5);
  await whileOverloaded(() => pipelined(server.port, PATHS));
  expect(handled).toHaveLength(PATHS.length);
});
