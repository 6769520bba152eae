import { once } from "node:events";
import { connect } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { rawSocket } from "../../../test/support/raw-socket.ts";
import { Route, type RouteEntry } from "../../public/index.ts";
import { createLogger } from "../log/create-logger.ts";
import type { Application } from "./application.ts";
import { createApplication } from "./create-application.ts";
import { Provider, type ProviderClass } from "./provider.ts";

type Line = Readonly<Record<string, unknown>>;

interface Served {
  readonly application: Application;
  readonly port: number;
  readonly lines: Line[];
}

async function serve(
  server: Record<string, unknown>,
  { routes = [], providers = [] }: { routes?: readonly RouteEntry[]; providers?: readonly ProviderClass[] } = {},
): Promise<Served> {
  const lines: Line[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: false } } as const;
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    config: { app: { APP: { server: { hostname: "127.0.0.1", ...server } } } },
    logger: createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as Line) }),
    routes: [Route.get("/", () => "hello"), Route.post("/form", ({ request }) => request.all()), ...routes],
    providers,
  });
  const { port } = await application.listen({ port: 0, handleSignals: false });
  onTestFinished(async () => {
    vi.useRealTimers();
    await application.stop({ drains: false });
  });
  return { application, port, lines };
}

/** Fakes timers, but not the network. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
}

/**
 * Lets time pass in small steps, with real network traffic in each, until a promise has settled. @returns how much time
 * passed
 */
async function passUntil(settled: Promise<unknown>): Promise<number> {
  let isSettled = false;
  void settled.then(() => (isSettled = true));
  for (let ms = 0; ms < 60_000; ms += 50) {
    for (let count = 0; count < 10; count++) await turn();
    if (isSettled) return ms;
    await vi.advanceTimersByTimeAsync(50);
  }
  throw new Error("It has not settled in a minute.");
}

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const POST = "POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n";

test("S50 while it drains, requests on new and kept-alive connections are served, and each connection then closes", async () => {
  const { application, port } = await serve({ drainSeconds: 30 });
  const kept = rawSocket(port, GET);
  await expect.poll(kept.received).toMatch(/Connection: keep-alive\r\n.*hello$/is);
  stopClock();
  expect(application.isDraining).toBe(false);
  const stopped = application.stop({ drains: true });
  expect(application.isDraining).toBe(true);
  for (let count = 0; count < 50; count++) await turn();
  expect(kept.socket.destroyed).toBe(false);
  const fresh = rawSocket(port, `${POST}{"a":1}`);
  kept.socket.write(`${POST}{"b":2}`);
  expect(await fresh.closed).toMatch(/^HTTP\/1\.1 200 .*Connection: close\r\n.*\{"a":1\}$/is);
  expect(await kept.closed).toMatch(/hello.*HTTP\/1\.1 200 .*Connection: close\r\n.*\{"b":2\}$/is);
  await passUntil(stopped);
});

test("S50 the response to a request that is pending when it begins to drain closes its connection too", async () => {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const slow = Route.get("/slow", async () => {
    begun.resolve();
    await released.promise;
    return "slow";
  });
  const { application, port } = await serve({ drainSeconds: 30 }, { routes: [slow] });
  const { closed } = rawSocket(port, GET.replace("/", "/slow"));
  await begun.promise;
  // First, because a stopped clock begins at 0.
  stopClock();
  application.drain(false);
  released.resolve();
  expect(await closed).toMatch(/Connection: close\r\n.*slow$/is);
  await passUntil(application.stop({ drains: true }));
});

test("S50 it drains for as long as configured, and idle connections stay open until then", async () => {
  const { application, port } = await serve({ drainSeconds: 30 });
  const idle = rawSocket(port, GET);
  await expect.poll(idle.received).toContain("hello");
  stopClock();
  let isClosed = false;
  void idle.closed.then(() => (isClosed = true));
  const stopped = application.stop({ drains: true });
  await vi.advanceTimersByTimeAsync(29_900);
  for (let count = 0; count < 50; count++) await turn();
  expect(isClosed).toBe(false);
  await passUntil(stopped);
  await idle.closed;
});

test("S50 time that it has already spent draining counts, however often it is asked to drain", async () => {
  const { application, port } = await serve({ drainSeconds: 30 });
  stopClock();
  application.drain(false);
  await vi.advanceTimersByTimeAsync(20_000);
  application.drain(false);
  const stopped = application.stop({ drains: true });
  let isStopped = false;
  void stopped.then(() => (isStopped = true));
  await vi.advanceTimersByTimeAsync(9900);
  for (let count = 0; count < 50; count++) await turn();
  expect(isStopped).toBe(false);
  expect(await rawSocket(port, GET).closed).toMatch(/hello$/);
  expect(await passUntil(stopped)).toBeLessThanOrEqual(1000);
});

test.each([
  ["alone", [true], 200],
  ["and then the end of all", [true, false], 503],
  ["after the end of all", [false, true], 503],
])("S50 /ready continues while another process takes over, %s: %j, %d", async (_, drains, status) => {
  const { application, port } = await serve({ drainSeconds: 30 });
  const ready = async () => (await fetch(`http://127.0.0.1:${port}/ready`)).status;
  expect(await ready()).toBe(200);
  // First, because a stopped clock begins at 0.
  stopClock();
  for (const isReplaced of drains) application.drain(isReplaced);
  expect(await ready()).toBe(status);
  const stopped = application.stop({ drains: true });
  expect(await ready()).toBe(status);
  await passUntil(stopped);
});

test("S50 /ready immediately reports that the process is ending, if it wasn't draining before", async () => {
  const { application, port } = await serve({ drainSeconds: 30 });
  stopClock();
  const stopped = application.stop({ drains: true });
  expect((await fetch(`http://127.0.0.1:${port}/ready`)).status).toBe(503);
  await passUntil(stopped);
});

test("S50 a job that never ends leaves time for the providers", async () => {
  const seconds: number[] = [];
  class Timed extends Provider {
    override shutdown(left: number): void {
      seconds.push(left);
    }
  }
  const { application } = await serve({ shutdownTimeoutSeconds: 10 }, { providers: [Timed] });
  stopClock();
  application.background.run("an endless job", () => new Promise(() => {}));
  const stopped = application.stop({ drains: true });
  await passUntil(stopped);
  expect(await stopped).toEqual({ jobs: 1 });
  expect(seconds[0]).toBeGreaterThan(0.9);
  expect(seconds[0]).toBeLessThanOrEqual(1);
});

test("S50 cut-off requests are counted together, on all ports and by all providers", async () => {
  class Mails extends Provider {
    override async shutdown(): Promise<Record<string, number>> {
      return { mails: 3 };
    }
  }
  class MoreMails extends Mails {}
  let begun = 0;
  const endless = Route.get("/endless", () => {
    begun++;
    return new Promise(() => {});
  });
  const { application, port } = await serve(
    { shutdownTimeoutSeconds: 10 },
    { routes: [endless], providers: [Mails, MoreMails] },
  );
  const second = await application.listen({ port: 0, handleSignals: false });
  for (const one of [port, second.port]) rawSocket(one, GET.replace("/", "/endless"));
  for (const one of [port, second.port]) rawSocket(one, "GET / HTTP/1.1\r\nHo");
  await expect.poll(() => begun).toBe(2);
  for (const one of [port, second.port]) await (await fetch(`http://127.0.0.1:${one}/`)).text();
  stopClock();
  const stopped = application.stop({ drains: true });
  await passUntil(stopped);
  expect(await stopped).toEqual({ requests: 2, connections: 2, mails: 6 });
});

test("S50 an application that does not listen, or is shut down from code, does not drain", async () => {
  const { application } = await serve({ drainSeconds: 3000 });
  await application.shutdown();
  const fetching = await createApplication({
    environment: { APP_ENV: "test" },
    config: { app: { APP: { server: { drainSeconds: 3000 } } } },
  });
  await fetching.stop({ drains: true });
});

test("S50 requests, jobs and providers that never end share one deadline, and one line says what was cut off", async () => {
  const told: string[] = [];
  class First extends Provider {
    override shutdown(): void {
      told.push("first");
    }
  }
  class Hanging extends Provider {
    override shutdown(): Promise<void> {
      told.push("hanging");
      return new Promise(() => {});
    }
  }
  class Losing extends Provider {
    override async shutdown(): Promise<Record<string, number>> {
      return { mails: 3, letters: 0 };
    }
  }
  const begun = Promise.withResolvers<void>();
  const endless = Route.get("/endless", () => {
    begun.resolve();
    return new Promise(() => {});
  });
  const served = await serve(
    { shutdownTimeoutSeconds: 10 },
    { routes: [endless], providers: [First, Hanging, Losing] },
  );
  const { application, port, lines } = served;
  const request = rawSocket(port, GET.replace("/", "/endless"));
  const half = rawSocket(port, "GET / HTTP/1.1\r\nHo");
  await begun.promise;
  await expect.poll(() => half.socket.bytesWritten).toBeGreaterThan(0);
  // A later request on another connection got a response, so the server has read the incomplete one.
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("hello");
  stopClock();
  const started = Promise.withResolvers<void>();
  application.background.run("an endless job", () => {
    started.resolve();
    return new Promise(() => {});
  });
  const stopped = application.stop({ drains: true });
  const ms = await passUntil(stopped);
  await started.promise;
  expect(await stopped).toEqual({ requests: 1, connections: 1, jobs: 1, mails: 3, providers: 1 });
  // Separate limits would add up to 40 seconds.
  expect(ms).toBeGreaterThanOrEqual(9900);
  expect(ms).toBeLessThanOrEqual(10_200);
  expect(told).toEqual(["hanging", "first"]);
  expect([await request.closed, await half.closed]).toEqual(["", ""]);
  expect(lines.filter(({ cutOff }) => cutOff !== undefined)).toEqual([
    expect.objectContaining({
      level: "error",
      cutOff: { requests: 1, connections: 1, jobs: 1, mails: 3, providers: 1 },
      msg: "The shutdown could not finish everything in 10 seconds. It cut off: 1 request, 1 connection, 1 job, 3 mails, 1 provider.",
    }),
  ]);
});

test.each([
  [4, 4],
  [60, 10],
])(
  "S50 a shutdown that is to end within %d seconds takes that long if it is less than its own limit",
  async (given, taken) => {
    const left: number[] = [];
    class Counting extends Provider {
      override shutdown(seconds: number): void {
        left.push(seconds);
      }
    }
    const { application } = await serve({ shutdownTimeoutSeconds: 10 }, { providers: [Counting] });
    stopClock();
    await passUntil(application.stop({ drains: true, withinSeconds: given }));
    expect(left).toEqual([taken]);
  },
);

test("S50 after a provider that used up the time, another one still has a moment to finish sending", async () => {
  const done: string[] = [];
  class Saving extends Provider {
    override async shutdown(left: number): Promise<void> {
      await new Promise((resolve) => setTimeout(resolve, 40));
      done.push(`saved in ${left} seconds`);
    }
  }
  class Hanging extends Provider {
    override shutdown(): Promise<void> {
      return new Promise(() => {});
    }
  }
  const { application } = await serve({ shutdownTimeoutSeconds: 10 }, { providers: [Saving, Hanging] });
  stopClock();
  const stopped = application.stop({ drains: true });
  await passUntil(stopped);
  expect([await stopped, done]).toEqual([{ providers: 1 }, ["saved in 0.05 seconds"]]);
});

test("S50 a request that never ends leaves time for the jobs, and these for the providers", async () => {
  const seconds: number[] = [];
  class Timed extends Provider {
    override shutdown(left: number): void {
      seconds.push(left);
    }
  }
  const begun = Promise.withResolvers<void>();
  const endless = Route.get("/endless", () => {
    begun.resolve();
    return new Promise(() => {});
  });
  const { application, port } = await serve({ shutdownTimeoutSeconds: 10 }, { routes: [endless], providers: [Timed] });
  rawSocket(port, GET.replace("/", "/endless"));
  await begun.promise;
  stopClock();
  const done: string[] = [];
  application.background.run("a job", async () => void done.push("job"));
  const stopped = application.stop({ drains: true });
  await passUntil(stopped);
  expect([done, await stopped]).toEqual([["job"], { requests: 1 }]);
  expect(seconds[0]).toBeGreaterThan(1);
  expect(seconds[0]).toBeLessThanOrEqual(2);
});

test("S50 a connection that was kept alive by a response from before the shutdown closes when that response has ended", async () => {
  const sending = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const endless = Route.get("/stream", () => {
    const body = new ReadableStream<Uint8Array>({ start: (controller) => sending.resolve(controller) });
    return new Response(body);
  });
  const { application, port } = await serve({ shutdownTimeoutSeconds: 3000 }, { routes: [endless] });
  const { received, closed } = rawSocket(port, GET.replace("/", "/stream"));
  const controller = await sending.promise;
  controller.enqueue(Buffer.from("first"));
  await expect.poll(received).toMatch(/Connection: keep-alive\r\n[\s\S]*first/i);
  const stopped = application.stop({ drains: true });
  // By then, the server no longer listens, and has closed idle connections.
  await expect.poll(() => rawSocket(port, GET).closed).toBe("");
  controller.enqueue(Buffer.from("last"));
  controller.close();
  expect(await closed).toMatch(/first[\s\S]*last[\s\S]*\r\n0\r\n\r\n$/);
  expect(await stopped).toEqual({});
});

test("S50 a client that is still sending after its response is not cut off from anything", async () => {
  const { application, port, lines } = await serve({ shutdownTimeoutSeconds: 2 });
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  let received = "";
  socket.on("data", (data) => (received += String(data))).on("error", () => {});
  socket.write("POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
  await once(socket, "end");
  expect(received).toMatch(/^HTTP\/1\.1 404 [\s\S]*Connection: close\r\n/i);
  socket.write("still here");
  expect([await application.stop({ drains: true }), lines]).toEqual([{}, []]);
});

test("S50 if everything is finished, nothing is reported", async () => {
  const { application, port, lines } = await serve({});
  const idle = rawSocket(port, GET);
  await expect.poll(idle.received).toContain("hello");
  expect(await application.stop({ drains: true })).toEqual({});
  expect(lines).toEqual([]);
});
