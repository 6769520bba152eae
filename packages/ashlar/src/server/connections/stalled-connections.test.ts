import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { rawSocket } from "../../../test/support/raw-socket.ts";
import { type Application, createApplication } from "../../boot/index.ts";
import { takenBytes } from "../../node/index.ts";
import { Route } from "../../routing/index.ts";
import { endStalled } from "./stalled-connections.ts";

/** More than the system buffers for a client that doesn't read. */
const LARGE = 24_000_000;
const TIMEOUT_MS = 400;

let application: Application;
let port: number;
let cancelled: number;
const clients: Socket[] = [];

/** The connections at the server's side. */
const serverSockets: Socket[] = [];
const keep = (message: unknown): void => void serverSockets.push((message as { socket: Socket }).socket);
beforeAll(() => subscribe("net.server.socket", keep));
afterAll(() => void unsubscribe("net.server.socket", keep));

beforeEach(async () => {
  cancelled = 0;
  serverSockets.length = 0;
  application = await createApplication({
    environment: { APP_ENV: "test" },
    config: { app: { APP: { server: { stallTimeoutSeconds: TIMEOUT_MS / 1000, shutdownTimeoutSeconds: 0 } } } },
    routes: [
      Route.get("/large", ({ response }) => response.text("a".repeat(LARGE))),
      Route.get("/endless", ({ response }) => {
        const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(new Uint8Array(65_536));
        return response.stream(new ReadableStream({ pull, cancel: () => void cancelled++ }));
      }),
      Route.get("/events", ({ response }) => response.stream(events(), "text/event-stream")),
    ],
  });
  ({ port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false }));
});

afterEach(async () => {
  for (const socket of clients.splice(0)) socket.destroy();
  await application.shutdown();
});

async function* events(): AsyncGenerator<string> {
  yield "data: first\n\n";
  await sleep(TIMEOUT_MS * 4);
  yield "data: second\n\n";
}

/** Waits until the server has closed the test's only connection. */
async function serverHasClosed(): Promise<void> {
  await expect.poll(() => serverSockets.length).toBe(1);
  const [socket] = serverSockets;
  if (!socket!.closed) await once(socket!, "close");
}

/** Requests a path on a connection that is closed after its response. */
function ask(path: string): ReturnType<typeof rawSocket> {
  const client = rawSocket(port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  clients.push(client.socket);
  return client;
}

describe("S50 a client that does not read", () => {
  test("S50 loses its connection, and the stream of its response is cancelled", async () => {
    ask("/endless").socket.pause();
    await expect.poll(() => cancelled).toBe(1);
  });

  test("S50 loses its connection if the response is not a stream", async () => {
    const { socket, closed } = ask("/large");
    socket.pause();
    await serverHasClosed();
    socket.resume();
    expect((await closed).length).toBeLessThan(LARGE);
  });

  test("S50 loses its connection even if it keeps sending", async () => {
    const { socket, closed } = rawSocket(port, "GET /large HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n");
    clients.push(socket);
    socket.pause();
    const drip = setInterval(() => socket.writable && socket.write("X-A: b\r\n"), TIMEOUT_MS / 8);
    await serverHasClosed();
    clearInterval(drip);
    socket.resume();
    expect((await closed).length).toBeLessThan(LARGE);
  });
});

test("S50 a client that reads slowly keeps its connection until it stops reading", async () => {
  const server = createServer((socket) => socket.write(Buffer.alloc(LARGE)));
  server.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  const accepted = once(server, "connection") as Promise<[Socket]>;
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  clients.push(client);
  const [socket] = await accepted;
  socket.on("error", () => {});
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  const timer = endStalled(new Set([socket]), TIMEOUT_MS / 1000);
  onTestFinished(() => {
    clearInterval(timer);
    vi.useRealTimers();
  });
  let unread = 0;
  client.on("data", ({ length }) => {
    unread -= length;
    if (unread <= 0) client.pause();
  });
  for (let round = 0; round < 4; round++) {
    const taken = takenBytes(socket)!;
    unread = LARGE / 8;
    client.resume();
    // `expect.poll` would advance the timers.
    while (takenBytes(socket)! <= taken) await turn();
    vi.advanceTimersByTime(TIMEOUT_MS * 0.75);
    expect(socket.destroyed).toBe(false);
  }
  vi.advanceTimersByTime(TIMEOUT_MS * 2);
  expect(socket.destroyed).toBe(true);
});

test("S50 a stream that has nothing to send for longer than the timeout is not cut off", async () => {
  expect(await ask("/events").closed).toMatch(/data: first\n\n.*data: second\n\n\r\n0\r\n\r\n$/s);
});
