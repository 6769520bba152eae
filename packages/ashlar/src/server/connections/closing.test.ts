import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import type { Socket, Server as SocketServer } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { acceptWaiting, type CutConnections, close } from "./closing.ts";

/** A fake connection. The test decides whether anything has been read from it. */
class Connection extends EventEmitter {
  readonly bytesRead: number;
  isDestroyed = false;

  constructor(bytesRead: number) {
    super();
    this.bytesRead = bytesRead;
  }

  destroy(): void {
    if (this.isDestroyed) return;
    this.isDestroyed = true;
    setImmediate(() => this.emit("close"));
  }
}

/**
 * A server that either listens, or gets its connections from another process, which reports the last one with `last`.
 */
function setUp(connections: readonly Connection[], listens: boolean, last: Promise<void> = Promise.resolve()) {
  const told: string[] = [];
  const server = Object.assign(new EventEmitter(), {
    closeIdleConnections: () => void told.push("idle"),
    close: () => void told.push("closed"),
  });
  const stop = (done: () => void): void => {
    told.push("stopped listening");
    done();
  };
  const closing = {
    server: server as unknown as Server,
    listening: listens ? [{ close: stop } as unknown as SocketServer] : [],
    sockets: new Set(connections as unknown as Socket[]),
    closeSource: listens ? null : () => last,
  };
  return { server, told, end: (seconds: number): Promise<CutConnections> => close(closing, seconds) };
}

/** Stops the clock, and returns a function that advances it. */
function stopClock(): (ms: number) => Promise<unknown> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  // The object must stay the same, because the module references it. The values are whole milliseconds, because rounded
  // sums can be wrong about whether a time has just passed.
  let time = Math.ceil(performance.now());
  const clock = vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => {
    clock.mockRestore();
    vi.useRealTimers();
  });
  return (ms) => {
    time += ms;
    return vi.advanceTimersByTimeAsync(ms);
  };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}

test("a server whose connections come from another process closes once they have, and stops its checks", async () => {
  const pass = stopClock();
  const [busy, silent] = [new Connection(1), new Connection(0)];
  const { told, end } = setUp([busy, silent], false);
  let isClosed = false;
  const ended = end(10).finally(() => {
    isClosed = true;
  });
  await turns(10);
  await pass(100);
  expect([silent.isDestroyed, busy.isDestroyed, isClosed, told]).toEqual([true, false, false, ["closed"]]);
  await pass(20);
  expect(told).toEqual(["closed", "idle"]);
  busy.destroy();
  expect(await ended).toEqual({ requests: 0, connections: 0, isQuiet: true });
  expect(vi.getTimerCount()).toBe(0);
});

test("requests left when the time is up are cut off, and counted", async () => {
  const pass = stopClock();
  const busy = [new Connection(1), new Connection(100)];
  const { end } = setUp(busy, true);
  const ended = end(10);
  await turns(10);
  await pass(9999);
  expect(busy.map(({ isDestroyed }) => isDestroyed)).toEqual([false, false]);
  await pass(1);
  expect(await ended).toEqual({ requests: 0, connections: 2, isQuiet: true });
  expect(busy.map(({ isDestroyed }) => isDestroyed)).toEqual([true, true]);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  [5, 2500],
  [0.1, 50],
])("with %d seconds left, connections that keep coming are accepted for %d ms", async (seconds, ms) => {
  const pass = stopClock();
  const { server, told, end } = setUp([], true);
  const ended = end(seconds);
  for (let passed = 0; passed < ms; passed += 50) {
    expect(told).not.toContain("stopped listening");
    server.emit("connection");
    await pass(50);
    await turns(1);
  }
  await turns(2);
  expect(told).toContain("stopped listening");
  expect(await ended).toMatchObject({ isQuiet: false });
});

test("without any time left, a server stops listening at once", async () => {
  stopClock();
  const { told, end } = setUp([], true);
  const ended = end(0);
  await turns(1);
  expect(told).toContain("stopped listening");
  expect(await ended).toMatchObject({ isQuiet: true });
});

test("requests on the last connections from another process are read before silent ones are closed", async () => {
  const pass = stopClock();
  const late = new Connection(0);
  const { end } = setUp([late], false);
  const ended = end(10);
  await turns(10);
  // The client sends its request just before the time limit.
  await pass(99);
  Object.assign(late, { bytesRead: 100 });
  await pass(1);
  expect(late.isDestroyed).toBe(false);
  late.destroy();
  expect(await ended).toEqual({ requests: 0, connections: 0, isQuiet: true });
});

test("a server waits for another process's last connections before it closes silent ones", async () => {
  const pass = stopClock();
  const last = Promise.withResolvers<void>();
  const silent = new Connection(0);
  const { told, end } = setUp([silent], false, last.promise);
  const ended = end(10);
  await turns(10);
  expect([silent.isDestroyed, told]).toEqual([false, []]);
  last.resolve();
  await turns(10);
  await pass(100);
  expect(await ended).toEqual({ requests: 0, connections: 0, isQuiet: true });
  expect(silent.isDestroyed).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test("a server waits at most half of its time for another process that doesn't name the last connection", async () => {
  const pass = stopClock();
  const silent = new Connection(0);
  const { end } = setUp([silent], false, new Promise(() => {}));
  const ended = end(10);
  await pass(4999);
  await turns(10);
  expect(silent.isDestroyed).toBe(false);
  await pass(1);
  await turns(10);
  await pass(100);
  expect(silent.isDestroyed).toBe(true);
  expect(await ended).toEqual({ requests: 0, connections: 0, isQuiet: true });
});

test("connections are accepted until three turns have brought none, but not forever", async () => {
  const pass = stopClock();
  const server = new EventEmitter();
  let isOver = false;
  const accepting = acceptWaiting(server as unknown as SocketServer).finally(() => {
    isOver = true;
  });
  for (let count = 0; count < 20; count++) {
    server.emit("connection");
    await turns(2);
    expect(isOver).toBe(false);
  }
  await turns(3);
  expect([isOver, server.listenerCount("connection")]).toEqual([true, 0]);
  expect(await accepting).toBe(true);
  isOver = false;
  const flooded = acceptWaiting(server as unknown as SocketServer).finally(() => {
    isOver = true;
  });
  for (let ms = 0; ms < 1000; ms += 100) {
    expect(isOver).toBe(false);
    server.emit("connection");
    await pass(100);
    await turns(1);
  }
  await turns(1);
  expect(isOver).toBe(true);
  expect(await flooded).toBe(false);
});
