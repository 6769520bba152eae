import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { FastResponse } from "srvx";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Application } from "../../boot/application/application.ts";
import { createApplication } from "../../boot/application/create-application.ts";
import { createLogger } from "../../boot/log/create-logger.ts";
import { TrustedProxies } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { nodeHandler } from "../../server/handlers/node-handler.ts";
import type { Logger } from "../logger.ts";
import { afterResponse, Background, fetchTraced } from "./after-response.ts";
import { currentRequestId, requestTraces } from "./running-code.ts";

/** An application with handlers that defer work. Some of them run for a while afterwards. */
async function working(): Promise<{ readonly application: Application; readonly order: string[] }> {
  const order: string[] = [];
  const leave = () => afterResponse(() => order.push("work"));
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/soon", () => {
        leave();
        order.push("handled");
        return "done";
      }),
      Route.get("/later", async () => {
        leave();
        for (let count = 0; count < 5; count++) await turn();
        order.push("handled");
        return "done";
      }),
      Route.get("/fails", async () => {
        leave();
        await turn();
        order.push("handled");
        throw new Error("This handler fails.");
      }),
      Route.get("/endless", () => {
        leave();
        order.push("handled");
        return new ReadableStream({ start: (stream) => stream.enqueue("first") });
      }),
    ],
  });
  onTestFinished(() => application.shutdown());
  return { application, order };
}

/** A connection to a server. Its responses stay open, or wait until the test releases them. */
async function heldServer() {
  const order: string[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const leave = (text = "work") => afterResponse(() => order.push(text));
  const responses: Record<string, () => Response | Promise<Response>> = {
    "/open": () => new Promise<Response>(() => {}),
    "/work": () => {
      leave();
      return new FastResponse("done");
    },
    "/held": async () => {
      leave();
      await released;
      return new FastResponse("done");
    },
    "/traced": () => {
      const trace = requestTraces.getStore();
      afterResponse(() => order.push(requestTraces.getStore() === trace ? "its own trace" : "another trace"));
      return new FastResponse("done");
    },
    "/short": () => {
      leave();
      const start = async (stream: ReadableStreamDefaultController) => {
        stream.enqueue(new Uint8Array(1));
        await released;
        stream.close();
      };
      return new Response(new ReadableStream({ start: (stream) => void start(stream) }));
    },
    "/endless": () => {
      leave();
      return new Response(new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array(1)) }));
    },
    "/after": () => {
      setImmediate(setImmediate, leave);
      return new FastResponse("done");
    },
    "/rejects": async () => {
      leave();
      throw new Error("This fetch fails.");
    },
  };
  const fetch = (request: Request) => {
    const { pathname } = new URL(request.url);
    order.push(`GET ${pathname}`);
    return responses[pathname]!();
  };
  const settings = { name: "x", environment: "test", log: { level: "silent", requests: false } } as const;
  const rescue = () => new FastResponse(null, { status: 500 });
  const handler = nodeHandler({ fetch, rescue }, new TrustedProxies(), createLogger(settings));
  const server = createServer((message, response) => handler(message, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.on("error", () => {});
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const [socket] = (await once(server, "connection")) as [Socket];
  // Not `once`, which rejects if the client resets the connection.
  const closed = new Promise((resolve) => socket.once("close", resolve));
  return { client, socket, closed, order, release };
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

/** On a slow machine, waits as long as necessary. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn();
}

test.each(["/soon", "/later", "/fails"])(
  "work deferred by GET %s begins after fetch has returned its response",
  async (path) => {
    const { application, order } = await working();
    const response = await application.fetch(new Request(`http://localhost${path}`));
    order.push(String(response.status));
    await until(() => order.includes("work"));
    expect(order).toEqual(["handled", path === "/fails" ? "500" : "200", "work"]);
  },
);

test.each(["/soon", "/later", "/fails", "/endless"])("a server does the work deferred by GET %s", async (path) => {
  const { application, order } = await working();
  const { url } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const response = await fetch(new URL(path, url));
  await until(() => order.includes("work"));
  expect(order).toEqual(["handled", "work"]);
  await response.body?.cancel();
});

test("work is done even if the client has disconnected", async () => {
  const { application, order } = await working();
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const socket = connect(port, "127.0.0.1");
  const one = "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n";
  socket.write(one + one, () => socket.destroy());
  await until(() => order.filter((step) => step === "work").length === 2);
  expect(order.filter((step) => step === "handled")).toHaveLength(2);
});

test("work that waits for an earlier response on the same connection begins when the client disconnects", async () => {
  const { client, closed, order } = await heldServer();
  client.write(get("/open") + get("/work"));
  await until(() => order.includes("GET /work"));
  await turn();
  expect(order).toEqual(["GET /open", "GET /work"]);
  client.destroy();
  await closed;
  await until(() => order.includes("work"));
  expect(order).toEqual(["GET /open", "GET /work", "work"]);
});

test("work begins if the connection is already closed when the handler responds", async () => {
  const { client, closed, order, release } = await heldServer();
  client.write(get("/open") + get("/held"));
  await until(() => order.includes("GET /held"));
  client.destroy();
  await closed;
  release();
  await until(() => order.includes("work"));
  expect(order).toEqual(["GET /open", "GET /held", "work"]);
});

test("many responses waiting on one connection cause no warning, and leave no listeners behind", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  const { socket, client, order, release } = await heldServer();
  const listeners = socket.listenerCount("close");
  client.write(get("/held") + get("/work").repeat(100));
  await until(() => order.length === 101);
  await turn();
  expect(order).not.toContain("work");
  expect(socket.listenerCount("close")).toBeGreaterThan(100);
  release();
  await until(() => order.filter((step) => step === "work").length === 101);
  await turn();
  expect(socket.listenerCount("close")).toBe(listeners);
  expect(warnings).toEqual([]);
});

test("work runs in the context of the request that deferred it, even after the response", async () => {
  const { client, order, release } = await heldServer();
  client.write(get("/held") + get("/traced").repeat(3));
  await until(() => order.length === 4);
  release();
  await until(() => order.length === 8);
  expect(order.slice(4)).toEqual(["work", "its own trace", "its own trace", "its own trace"]);
});

test.each(["/short", "/endless"])("work deferred for a streamed response is done once: GET %s", async (path) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { client, closed, order, release } = await heldServer();
  client.write(get(path));
  await once(client, "data");
  expect(order).toEqual([`GET ${path}`]);
  if (path === "/short") release();
  else vi.advanceTimersByTime(1000);
  await until(() => order.includes("work"));
  vi.advanceTimersByTime(1000);
  client.destroy();
  await closed;
  await turn();
  expect(order).toEqual([`GET ${path}`, "work"]);
});

test("work of an endless stream begins a second later, and its timer does not keep the process alive", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const started = vi.spyOn(globalThis, "setTimeout");
  onTestFinished(() => {
    // In the reverse order, the fake timer would stay in place.
    started.mockRestore();
    vi.useRealTimers();
  });
  const { client, order } = await heldServer();
  client.write(get("/endless"));
  await once(client, "data");
  vi.advanceTimersByTime(999);
  expect(order).toEqual(["GET /endless"]);
  vi.advanceTimersByTime(1);
  expect(order).toEqual(["GET /endless", "work"]);
  const index = started.mock.calls.findIndex(([, ms]) => ms === 1000);
  expect(started.mock.results[index]!.value.hasRef()).toBe(false);
});

test("work deferred after the response begins in the next turn", async () => {
  const { client, order } = await heldServer();
  client.write(get("/after"));
  await until(() => order.includes("work"));
  const fetched: string[] = [];
  fetchTraced(async () => {
    setImmediate(setImmediate, () => afterResponse(() => fetched.push("work")));
    return new Response();
  });
  await until(() => fetched.includes("work"));
});

test("work of a fetch that rejects is done", async () => {
  const order: string[] = [];
  const response = fetchTraced(async () => {
    afterResponse(() => order.push("work"));
    throw new Error("This fetch fails.");
  });
  await expect(response).rejects.toThrow("This fetch fails.");
  await until(() => order.includes("work"));
  const { client, order: served } = await heldServer();
  client.write(get("/rejects"));
  await until(() => served.includes("work"));
});

test("work deferred outside of a request begins in the next turn", async () => {
  const { application, order } = await working();
  afterResponse(() => order.push("outside"));
  expect(order).toEqual([]);
  await turn();
  expect(order).toEqual(["outside"]);
  await application.fetch(new Request("http://localhost/soon"));
  await until(() => order.includes("work"));
});

test("work of a request made within another request begins after the outer one", async () => {
  const { application, order } = await working();
  const outer = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/outer", async () => {
        await application.fetch(new Request("http://localhost/soon"));
        for (let count = 0; count < 3; count++) await turn();
        order.push("outer handled");
        return "done";
      }),
    ],
  });
  onTestFinished(() => outer.shutdown());
  await outer.fetch(new Request("http://localhost/outer"));
  await until(() => order.includes("work"));
  expect(order).toEqual(["handled", "outer handled", "work"]);
});

function logging(): { readonly logger: Logger; readonly lines: unknown[] } {
  const lines: unknown[] = [];
  return { logger: { error: (...line: unknown[]) => lines.push(line) } as unknown as Logger, lines };
}

test("jobs begin in order, eight at a time", async () => {
  const background = new Background(logging().logger);
  const begun: number[] = [];
  let [now, most] = [0, 0];
  for (let job = 0; job < 30; job++) {
    background.run("a job", async () => {
      begun.push(job);
      most = Math.max(most, ++now);
      await turn();
      now--;
    });
  }
  expect([background.pending, begun]).toEqual([30, []]);
  await background.settled();
  expect([background.pending, most, begun]).toEqual([0, 8, Array.from({ length: 30 }, (_, job) => job)]);
});

test("running and queued jobs are counted, and settled waits for all of them", async () => {
  const background = new Background(logging().logger);
  const ends: (() => void)[] = [];
  for (let job = 0; job < 30; job++) background.run("a job", () => new Promise((resolve) => ends.push(resolve)));
  let isSettled = false;
  const settled = background.settled().then(() => {
    isSettled = true;
  });
  while (ends.length < 8) await turn();
  expect([background.pending, ends.length]).toEqual([30, 8]);
  for (let job = 0; job < 30; job++) {
    expect(isSettled).toBe(false);
    while (ends.length === job) await turn();
    ends[job]!();
    await turn();
    expect(background.pending).toBe(29 - job);
  }
  await settled;
});

test("a job that began before its request's response is done once", async () => {
  let done = 0;
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/", async () => {
        application.background.run("a job", async () => void done++);
        await application.background.settled();
        return { done };
      }),
    ],
  });
  expect(await (await application.fetch(new Request("http://localhost/"))).json()).toEqual({ done: 1 });
  // By the end of the next turn, the jobs that the response starts have begun.
  for (let count = 0; count < 3; count++) await turn();
  await application.shutdown();
  expect(done).toBe(1);
});

test("a job that fails is logged, and the next ones are done", async () => {
  const { logger, lines } = logging();
  const background = new Background(logger);
  const error = new Error("The disk is full.");
  const done: string[] = [];
  background.run("a registration", () => Promise.reject(error));
  background.run("another one", async () => void done.push("another one"));
  await background.settled();
  expect([done, lines]).toEqual([
    ["another one"],
    [[{ err: error, job: "a registration" }, "A background job failed."]],
  ]);
});

test("a job that another job starts is waited for", async () => {
  const background = new Background(logging().logger);
  const done: string[] = [];
  const second = () => background.run("the second", async () => void done.push("the second"));
  background.run("the first", async () => second());
  await background.settled();
  expect(done).toEqual(["the second"]);
});

test("a shutdown waits for jobs that requests have started", async () => {
  const done: string[] = [];
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/", () => {
        application.background.run("a job", async () => {
          for (let count = 0; count < 3; count++) await turn();
          done.push("job");
        });
        return "done";
      }),
    ],
  });
  await application.fetch(new Request("http://localhost/"));
  expect(done).toEqual([]);
  await application.shutdown();
  expect(done).toEqual(["job"]);
});

test("a job that another request's job makes room for belongs to its own request", async () => {
  const ids: (string | null)[] = [];
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/", ({ request }) => {
        application.background.run("a job", async () => {
          await turn();
          ids.push(currentRequestId());
        });
        return request.id;
      }),
    ],
  });
  onTestFinished(() => application.shutdown());
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  for (const origin of [null, `http://127.0.0.1:${port}`]) {
    ids.length = 0;
    const ask = async (): Promise<string> => {
      const answer = origin === null ? application.fetch(new Request("http://localhost/")) : fetch(`${origin}/`);
      return (await answer).text();
    };
    const asked = await Promise.all(Array.from({ length: 20 }, ask));
    await application.background.settled();
    expect(ids.toSorted()).toEqual(asked.toSorted());
  }
});

test("S32 an unpredictable job begins at a random time within a second after the response", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const background = new Background(logging().logger);
  const start = performance.now();
  const begun: number[] = [];
  const JOBS = 400;
  for (let job = 0; job < JOBS; job++) {
    background.runUnpredictably("a job", async () => void begun.push(performance.now() - start));
  }
  await vi.advanceTimersByTimeAsync(0);
  const atOnce = begun.length;
  await vi.advanceTimersByTimeAsync(1000);
  expect([begun.length, background.pending]).toEqual([JOBS, 0]);
  // Each tenth of the second gets 40 on average; fewer than 8 is practically impossible.
  const shares = Array.from({ length: 10 }, (_, tenth) => begun.filter((at) => Math.floor(at / 100) === tenth).length);
  expect(Math.min(...shares)).toBeGreaterThan(8);
  expect(atOnce).toBeLessThan(8);
});

test("an unpredictable job begins at once if someone waits for all jobs, as a shutdown does, and only once", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const background = new Background(logging().logger);
  let done = 0;
  background.runUnpredictably("a job", async () => void done++);
  await background.settled();
  expect(done).toBe(1);
  await vi.advanceTimersByTimeAsync(2000);
  expect([done, background.pending]).toEqual([1, 0]);
});
