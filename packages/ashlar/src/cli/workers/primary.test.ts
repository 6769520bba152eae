import cluster from "node:cluster";
import { EventEmitter, once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { rawSocket } from "../../../test/support/raw-socket.ts";
import type { Booted } from "./messages.ts";
import { Primary } from "./primary.ts";

const STALL_MS = 15_000;
const BOOT_MS = 60_000;
const DRAIN_SECONDS = 5;
const SHUTDOWN_SECONDS = 10;
const GRACE_MS = 3000;
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** A worker process, as the primary sees it. */
class Process extends EventEmitter {
  readonly id: number;
  /** What it was told, except of connections. */
  readonly told: string[] = [];
  /** The connections that it was sent, each with the function that reports that it could not be. */
  readonly sockets: { readonly socket: Socket; readonly fails: (error: Error) => void }[] = [];
  readonly killed: string[] = [];
  isGone = false;

  constructor(id: number) {
    super();
    this.id = id;
  }

  isConnected(): boolean {
    return !this.isGone;
  }

  send(message: { readonly type: string }, socket?: Socket, _?: object, sent?: (error: Error | null) => void): void {
    if (message.type !== "connection") return void this.told.push(message.type);
    this.sockets.push({ socket: socket!, fails: sent! });
    // As far as Node knows, all is well: the channel has room.
    if (this.sockets.length === 1) sent!(null);
  }

  /** Takes connections, of those that it was sent. */
  takes(count = this.sockets.length): void {
    for (let taken = 0; taken < count; taken++) this.emit("message", { type: "taken" });
  }

  kill(signal: string): void {
    this.killed.push(signal);
  }

  boots(more: Partial<Booted> = {}): void {
    const log = { name: "Shop", environment: "test", log: { level: "silent" } } as const;
    const address = { port: 0, hostname: "127.0.0.1", isLocal: false };
    const times = { drainSeconds: DRAIN_SECONDS, shutdownTimeoutSeconds: SHUTDOWN_SECONDS, waitSeconds: 0 };
    this.emit("message", { type: "booted", address, log, ...times, ...more });
  }

  serves(): void {
    this.emit("message", { type: "serving", url: "http://127.0.0.1/" });
  }

  dies(code: number | null = 0, signal: string | null = null): void {
    this.isGone = true;
    this.emit("exit", code, signal);
  }

  /** The connections that have arrived, or are on their way. */
  get count(): number {
    return this.sockets.length;
  }
}

let processes: Process[] = [];
let exits: unknown[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  processes = [];
  exits = [];
  vi.spyOn(cluster, "setupPrimary").mockImplementation(() => {});
  vi.spyOn(cluster, "fork").mockImplementation(() => {
    const process = new Process(processes.length + 1);
    processes.push(process);
    return process as never;
  });
  vi.spyOn(process, "exit").mockImplementation(((code: unknown) => void exits.push(code)) as never);
});

afterEach(async () => {
  // Ends what a test has not ended, with the port.
  if (exits.length === 0) {
    await signal("SIGTERM");
    for (const process of processes) if (!process.isGone) process.dies();
    await pass(60_000);
    await until(() => exits.length > 0);
  }
  for (const name of SIGNALS) for (const one of ours) process.off(name, one);
  // Of `relayMetrics`.
  for (const event of ["message", "disconnect"]) cluster.removeAllListeners(event);
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function turns(): Promise<void> {
  for (let count = 0; count < 20; count++) await nextTurn();
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await turns();
}

/** Waits for what the network takes its time for. */
async function until(isSo: () => boolean): Promise<void> {
  for (let turn = 0; !isSo(); turn++) {
    if (turn === 20_000) throw new Error(`It has not become true: ${isSo}`);
    await nextTurn();
  }
}

/** Sends a signal to this process, as far as the primary can tell. */
async function signal(name: (typeof SIGNALS)[number]): Promise<void> {
  // Vitest has listeners of its own.
  for (const listener of listenersOf(name)) if (ours.has(listener)) listener(name);
  await turns();
}

const listenersOf = (name: string): NodeJS.SignalsListener[] => process.listeners(name as never) as never;

/** The primary's listeners of signals. */
let ours = new Set<NodeJS.SignalsListener>();

/** Starts a primary and its first worker. */
async function begin(count: number): Promise<{ readonly printed: string[] }> {
  const printed: string[] = [];
  const terminal = {
    root: "/",
    print: (line = "") => void printed.push(line),
    printError: (line: string) => void printed.push(line),
  };
  const theirs = new Set(SIGNALS.flatMap(listenersOf));
  new Primary(terminal, count, [], { stallMs: STALL_MS, bootMs: BOOT_MS }).start();
  ours = new Set(SIGNALS.flatMap(listenersOf).filter((one) => !theirs.has(one)));
  return { printed };
}

/** Where the primary listens. */
let port = 0;

/** Starts a primary whose workers all serve. */
async function serving(count: number): Promise<{ readonly printed: string[] }> {
  const started = await begin(count);
  const [first] = processes;
  vi.spyOn(first!, "send").mockImplementationOnce((message) => {
    port = (message as unknown as { readonly port: number }).port;
    first!.told.push(message.type);
  });
  first!.boots();
  await until(() => first!.told.includes("serve"));
  first!.serves();
  for (const process of processes.slice(1)) await admit(process);
  return started;
}

async function admit(process: Process): Promise<void> {
  process.boots();
  await turns();
  process.serves();
}

/** Connects, and waits until the connection has been handed over. */
async function connection(): Promise<ReturnType<typeof rawSocket>> {
  const before = total();
  const socket = rawSocket(port);
  await until(() => total() > before);
  return socket;
}

const total = (): number => processes.reduce((sum, { count }) => sum + count, 0);

describe("connections", () => {
  test("go to the worker that the fewest wait for, in turn, and this process's own copies are closed", async () => {
    await serving(2);
    for (let count = 0; count < 4; count++) await connection();
    expect(processes.map(({ count }) => count)).toEqual([2, 2]);
    const [first, second] = processes;
    second!.takes();
    for (let count = 0; count < 2; count++) await connection();
    expect(processes.map(({ count }) => count)).toEqual([2, 4]);
    expect(first!.sockets.map(({ socket }) => socket.destroyed)).toEqual([false, false]);
    expect(second!.sockets.map(({ socket }) => socket.destroyed)).toEqual([true, true, false, false]);
  });

  test("go to the workers in turn if none has to wait", async () => {
    await serving(3);
    for (let count = 0; count < 6; count++) {
      await connection();
      for (const process of processes) process.takes();
    }
    expect(processes.map(({ count }) => count)).toEqual([2, 2, 2]);
  });

  test("don't go to a worker whose channel is closed, although it has not ended yet", async () => {
    await serving(3);
    vi.spyOn(processes[1]!, "isConnected").mockReturnValue(false);
    for (let count = 0; count < 4; count++) await connection();
    expect(processes.map(({ count }) => count)).toEqual([2, 0, 2]);
  });

  test("are not read, and stay open when the client has sent everything", async () => {
    await serving(1);
    const { socket } = rawSocket(port, "GET / HTTP/1.1\r\n\r\n");
    socket.end();
    await until(() => processes[0]!.count === 1);
    await turns();
    const [given] = processes[0]!.sockets;
    expect([given!.socket.bytesRead, given!.socket.allowHalfOpen, given!.socket.destroyed]).toEqual([0, true, false]);
  });

  test("that a worker can't be sent go to another one", async () => {
    await serving(2);
    await connection();
    const given = processes.find(({ count }) => count === 1)!;
    vi.spyOn(given, "isConnected").mockReturnValue(false);
    given.sockets[0]!.fails(new Error("write EPIPE"));
    const other = processes.find((one) => one !== given)!;
    expect([other.count, other.sockets[0]!.socket]).toEqual([1, given.sockets[0]!.socket]);
    expect(other.sockets[0]!.socket.destroyed).toBe(false);
  });

  test("that wait for a worker that dies go to another one, once", async () => {
    await serving(2);
    for (let count = 0; count < 4; count++) await connection();
    const [first, second] = processes;
    first!.dies(null, "SIGKILL");
    expect(second!.sockets.map(({ socket }) => socket)).toEqual(
      expect.arrayContaining(first!.sockets.map(({ socket }) => socket)),
    );
    // Node may report later what it has not delivered.
    for (const { fails } of first!.sockets) fails(new Error("ERR_IPC_CHANNEL_CLOSED"));
    expect(second!.count).toBe(4);
    expect(second!.sockets.some(({ socket }) => socket.destroyed)).toBe(false);
  });

  test("wait while no worker is left, and are the next one's", async () => {
    await serving(1);
    processes[0]!.dies(1);
    await pass(0);
    const waiting = rawSocket(port);
    await until(() => waiting.socket.readyState === "open");
    await turns();
    const [, next] = processes;
    await admit(next!);
    await until(() => next!.count === 1);
    // Only those that wait in vain are closed.
    await pass(STALL_MS * 2);
    expect(next!.sockets[0]!.socket.destroyed).toBe(false);
  });

  test("that wait for too long for any worker are closed", async () => {
    await serving(1);
    processes[0]!.dies(1);
    await pass(0);
    const waiting = rawSocket(port);
    await until(() => waiting.socket.readyState === "open");
    await turns();
    await pass(STALL_MS * 2);
    expect(await waiting.closed).toBe("");
  });

  test("beyond what may wait for a worker are closed", async () => {
    await serving(1);
    const [worker] = processes;
    for (let count = 0; count < 511; count++) rawSocket(port);
    await until(() => worker!.count === 511);
    expect(await rawSocket(port).closed).toBe("");
    expect(worker!.count).toBe(511);
  });
});

describe("a worker", () => {
  test("that takes no connection while some wait for it is killed, and one that takes some is not", async () => {
    await serving(2);
    for (let count = 0; count < 4; count++) await connection();
    const [hanging, slow] = processes;
    await pass(STALL_MS - 1000);
    expect(hanging!.killed).toEqual([]);
    slow!.takes(1);
    await pass(1000);
    expect([hanging!.killed, slow!.killed]).toEqual([["SIGKILL"], []]);
    slow!.takes(1);
    await pass(STALL_MS * 2);
    expect(slow!.killed).toEqual([]);
  });

  test("that does not take the only connection that waits is killed, and another one gets that", async () => {
    await serving(2);
    await connection();
    const hanging = processes.find(({ count }) => count === 1)!;
    await pass(STALL_MS - 1000);
    expect(hanging.killed).toEqual([]);
    await pass(1000);
    expect(hanging.killed).toEqual(["SIGKILL"]);
    const { socket } = hanging.sockets[0]!;
    expect(socket.destroyed).toBe(false);
    hanging.dies(null, "SIGKILL");
    expect(processes.find((one) => one !== hanging)!.sockets.map((given) => given.socket)).toEqual([socket]);
  });

  test("that takes one connection and then no other is killed as well", async () => {
    await serving(1);
    for (let count = 0; count < 2; count++) await connection();
    await pass(STALL_MS - 1000);
    processes[0]!.takes(1);
    await pass(STALL_MS - 1000);
    expect(processes[0]!.killed).toEqual([]);
    await pass(1000);
    expect(processes[0]!.killed).toEqual(["SIGKILL"]);
  });

  test("that died while it booted as a replacement is not killed", async () => {
    await serving(2);
    processes[0]!.dies(1);
    await pass(0);
    processes[2]!.dies(1);
    await pass(BOOT_MS * 2);
    expect(processes[2]!.killed).toEqual([]);
  });

  test("that was killed, or has died, is not watched any longer", async () => {
    await serving(2);
    for (let count = 0; count < 2; count++) await connection();
    const [first, second] = processes;
    first!.dies(1);
    second!.takes();
    await pass(STALL_MS * 2);
    expect([first!.killed, second!.killed]).toEqual([[], []]);
  });

  test("has a time to boot as a replacement, which ends when it serves", async () => {
    await serving(2);
    await pass(BOOT_MS * 2);
    expect(processes.map(({ killed }) => killed)).toEqual([[], []]);
    processes[0]!.dies(1);
    await pass(0);
    const [, , next] = processes;
    await pass(BOOT_MS - 1000);
    expect(next!.killed).toEqual([]);
    await pass(1000);
    expect(next!.killed).toEqual(["SIGKILL"]);
  });

  test("that died while it booted is not killed, and the first one may take its time", async () => {
    await begin(2);
    await pass(BOOT_MS * 10);
    expect(processes.map(({ killed }) => killed)).toEqual([[]]);
    processes[0]!.dies(1);
    await turns();
    expect([exits, processes.length]).toEqual([[1], 1]);
  });

  test("waits for its database in addition to the time to boot", async () => {
    await begin(2);
    processes[0]!.boots({ waitSeconds: 30 });
    await until(() => processes[0]!.told.includes("serve"));
    processes[0]!.serves();
    expect(processes).toHaveLength(2);
    await pass(BOOT_MS + 29_000);
    expect(processes[1]!.killed).toEqual([]);
    await pass(1000);
    expect(processes[1]!.killed).toEqual(["SIGKILL"]);
    await signal("SIGTERM");
    for (const process of processes) process.dies();
    await pass(DRAIN_SECONDS * 1000);
    await until(() => exits.length > 0);
  });

  test("that dies is replaced at once, the next time after a pause, and not if that is the end", async () => {
    await serving(2);
    processes[0]!.dies(1);
    await pass(0);
    expect(processes).toHaveLength(3);
    processes[1]!.dies(1);
    await pass(499);
    expect(processes).toHaveLength(3);
    await pass(1);
    expect(processes).toHaveLength(4);
    for (const process of processes.slice(2)) await admit(process);
    processes[2]!.dies(1);
    await signal("SIGTERM");
    await pass(5000);
    expect(processes).toHaveLength(4);
  });

  test("whose replacements fail to boot five times ends all, with 1", async () => {
    await serving(2);
    processes[0]!.dies(1);
    for (let count = 0; count < 5; count++) {
      await pass(30_000);
      expect([processes.length, exits]).toEqual([3 + count, []]);
      processes.at(-1)!.dies(1);
    }
    await turns();
    expect(processes[1]!.told).toEqual(["serve", "drain"]);
    await pass(DRAIN_SECONDS * 1000);
    await until(() => processes[1]!.told.includes("end"));
    processes[1]!.dies(0);
    await turns();
    expect([exits, processes.length]).toEqual([[1], 7]);
  });

  test("that boots lets earlier failures be forgotten", async () => {
    await serving(2);
    for (let round = 0; round < 2; round++) {
      processes.at(-1)!.dies(1);
      for (let count = 0; count < 4; count++) {
        await pass(30_000);
        processes.at(-1)!.dies(1);
      }
      await pass(30_000);
      await admit(processes.at(-1)!);
    }
    // One that serves, and dies later, begins with one failure less than four.
    for (let count = 0; count < 4; count++) {
      processes.at(-1)!.dies(1);
      await pass(30_000);
    }
    expect(exits).toEqual([]);
  });

  test("that can't be reached is no failure of this process", async () => {
    await serving(1);
    processes[0]!.emit("error", new Error("write EPIPE"));
    await turns();
    expect([processes.length, processes[0]!.killed]).toEqual([1, []]);
  });

  test("that serves although it was killed for the end has no others started", async () => {
    await begin(2);
    processes[0]!.boots();
    await until(() => processes[0]!.told.includes("serve"));
    await signal("SIGTERM");
    processes[0]!.serves();
    expect([processes.length, processes[0]!.killed]).toEqual([1, ["SIGKILL"]]);
  });
});

describe("a roll", () => {
  test("replaces one worker after the other, each once its successor serves", async () => {
    await serving(2);
    const [first, second] = processes;
    await signal("SIGHUP");
    expect([processes.length, first!.told]).toEqual([3, ["serve"]]);
    const third = processes[2]!;
    third.boots();
    await turns();
    // It gets nothing before it serves.
    await connection();
    await connection();
    expect([third.count, first!.told]).toEqual([0, ["serve"]]);
    third.serves();
    await turns();
    expect([first!.told, second!.told, processes.length]).toEqual([["serve", "retire"], ["serve"], 3]);
    const counts = first!.count;
    for (let count = 0; count < 4; count++) await connection();
    expect([first!.count, third.count > 0]).toEqual([counts, true]);
    first!.dies(0);
    await turns();
    expect(processes).toHaveLength(4);
    await admit(processes[3]!);
    await turns();
    expect(second!.told).toEqual(["serve", "retire"]);
    second!.dies(0);
    await pass(1000);
    expect([processes.length, first!.killed, second!.killed]).toEqual([4, [], []]);
  });

  test("kills a worker that doesn't end in the time that it has, and goes on", async () => {
    await serving(1);
    await signal("SIGHUP");
    await admit(processes[1]!);
    await pass((DRAIN_SECONDS + SHUTDOWN_SECONDS) * 1000 + GRACE_MS - 1);
    expect(processes[0]!.killed).toEqual([]);
    await pass(1);
    expect(processes[0]!.killed).toEqual(["SIGKILL"]);
    processes[0]!.dies(null, "SIGKILL");
    await pass(1000);
    expect([processes.length, processes[1]!.killed]).toEqual([2, []]);
  });

  test("doesn't kill a worker that has ended", async () => {
    await serving(1);
    await signal("SIGHUP");
    await admit(processes[1]!);
    await turns();
    processes[0]!.dies(0);
    await pass(60_000);
    expect(processes[0]!.killed).toEqual([]);
  });

  test("whose new worker can't boot leaves the others alone, and the next one begins anew", async () => {
    await serving(2);
    await signal("SIGHUP");
    processes[2]!.dies(1);
    await pass(60_000);
    expect([processes.length, processes[0]!.told, processes[1]!.told]).toEqual([3, ["serve"], ["serve"]]);
    await signal("SIGHUP");
    expect(processes).toHaveLength(4);
  });

  test("whose new worker can't boot replaces the old one that died meanwhile", async () => {
    await serving(2);
    await signal("SIGHUP");
    processes[0]!.dies(1);
    await pass(10_000);
    // It has a successor.
    expect(processes).toHaveLength(3);
    processes[2]!.dies(1);
    await pass(10_000);
    expect(processes).toHaveLength(4);
  });

  test("waits for the one before", async () => {
    await serving(1);
    await signal("SIGHUP");
    await signal("SIGHUP");
    expect(processes).toHaveLength(2);
    await admit(processes[1]!);
    await turns();
    processes[0]!.dies(0);
    await turns();
    expect(processes).toHaveLength(3);
    await admit(processes[2]!);
    await turns();
    expect(processes[1]!.told).toEqual(["serve", "retire"]);
    processes[1]!.dies(0);
  });

  test("that has failed doesn't count as the replacement of a worker that dies later", async () => {
    await serving(2);
    await signal("SIGHUP");
    processes[2]!.dies(1);
    await turns();
    processes[0]!.dies(1);
    await pass(10_000);
    expect(processes).toHaveLength(4);
  });

  test("doesn't replace a worker again that died before its turn", async () => {
    await serving(2);
    await signal("SIGHUP");
    processes[1]!.dies(1);
    await pass(0);
    expect(processes).toHaveLength(4);
    await admit(processes[3]!);
    await admit(processes[2]!);
    await turns();
    processes[0]!.dies(0);
    await pass(1000);
    expect(processes).toHaveLength(4);
  });

  test("doesn't begin, or go on, once all end", async () => {
    await serving(2);
    await signal("SIGHUP");
    await signal("SIGHUP");
    await signal("SIGTERM");
    processes[2]!.dies(null, "SIGKILL");
    await turns();
    expect([processes.length, processes[0]!.told]).toEqual([3, ["serve", "drain"]]);
  });

  test("doesn't go on once all end while a worker retires", async () => {
    await serving(2);
    await signal("SIGHUP");
    await admit(processes[2]!);
    await turns();
    expect(processes[0]!.told).toEqual(["serve", "retire"]);
    await signal("SIGTERM");
    processes[0]!.dies(0);
    await turns();
    expect(processes).toHaveLength(3);
  });

  test("starts nothing more once all end", async () => {
    await serving(2);
    await signal("SIGHUP");
    await admit(processes[2]!);
    await signal("SIGTERM");
    for (const process of processes) process.dies(0);
    await pass(DRAIN_SECONDS * 1000);
    await until(() => exits.length > 0);
    expect([processes.length, exits]).toEqual([3, [0]]);
    await signal("SIGHUP");
    expect(processes).toHaveLength(3);
  });
});

describe("the end", () => {
  test("drains first, then closes the port and tells the workers to end, and waits for them", async () => {
    await serving(2);
    await signal("SIGTERM");
    expect(processes.map(({ told }) => told)).toEqual([
      ["serve", "drain"],
      ["serve", "drain"],
    ]);
    await pass(DRAIN_SECONDS * 1000 - 1);
    const late = await connection();
    expect(processes.map(({ told }) => told.includes("end"))).toEqual([false, false]);
    await pass(1);
    await until(() => processes[1]!.told.includes("end"));
    expect(await rawSocket(port).closed).toBe("");
    expect(late.socket.destroyed).toBe(false);
    processes[0]!.dies(0);
    await turns();
    expect(exits).toEqual([]);
    processes[1]!.dies(0);
    await turns();
    expect(exits).toEqual([0]);
    await pass(60_000);
    expect(processes.map(({ killed }) => killed)).toEqual([[], []]);
  });

  test("is a failure if a worker had to cut something off", async () => {
    await serving(2);
    await signal("SIGTERM");
    await pass(DRAIN_SECONDS * 1000);
    processes[0]!.dies(1);
    processes[1]!.dies(0);
    await until(() => exits.length > 0);
    expect(exits).toEqual([1]);
  });

  test("kills workers that don't end in time", async () => {
    await serving(2);
    await signal("SIGTERM");
    await pass(DRAIN_SECONDS * 1000);
    await until(() => processes[1]!.told.includes("end"));
    processes[0]!.dies(0);
    await pass(SHUTDOWN_SECONDS * 1000 + GRACE_MS - 1);
    expect(processes[1]!.killed).toEqual([]);
    await pass(1);
    expect(processes.map(({ killed }) => killed)).toEqual([[], ["SIGKILL"]]);
    processes[1]!.dies(null, "SIGKILL");
    await until(() => exits.length > 0);
    expect(exits).toEqual([1]);
  });

  test("gives workers of a newer version their own time", async () => {
    await serving(2);
    processes[0]!.dies(1);
    await pass(0);
    processes[2]!.boots({ drainSeconds: 20, shutdownTimeoutSeconds: 40 });
    await turns();
    processes[2]!.serves();
    await signal("SIGTERM");
    await pass(19_999);
    expect(processes[1]!.told).not.toContain("end");
    await pass(1);
    await until(() => processes[1]!.told.includes("end"));
    await pass(40_000 + GRACE_MS - 1);
    expect(processes[1]!.killed).toEqual([]);
    await pass(1);
    expect(processes[1]!.killed).toEqual(["SIGKILL"]);
  });

  test("doesn't wait for a worker that only boots, which is no failure", async () => {
    await serving(2);
    processes[0]!.dies(1);
    await pass(0);
    await signal("SIGTERM");
    expect(processes[2]!.killed).toEqual(["SIGKILL"]);
    processes[2]!.dies(null, "SIGKILL");
    await pass(DRAIN_SECONDS * 1000);
    await until(() => processes[1]!.told.includes("end"));
    processes[1]!.dies(0);
    await until(() => exits.length > 0);
    expect(exits).toEqual([0]);
  });

  test("closes connections that wait for a worker", async () => {
    await serving(1);
    processes[0]!.dies(1);
    await pass(0);
    const waiting = rawSocket(port);
    await until(() => waiting.socket.readyState === "open");
    await turns();
    await signal("SIGTERM");
    processes[1]!.dies(null, "SIGKILL");
    await pass(0);
    expect(await waiting.closed).toBe("");
    await until(() => exits.length > 0);
    expect(exits).toEqual([0]);
  });

  test("closes connections for which no worker is left, at once", async () => {
    await serving(1);
    await signal("SIGTERM");
    processes[0]!.dies(0);
    expect(await rawSocket(port).closed).toBe("");
    expect(exits).toEqual([]);
  });

  test("comes with the first signal only: a second one is not this process's to handle", async () => {
    await serving(1);
    const before = ["SIGTERM", "SIGINT"].map((name) => process.listenerCount(name));
    await signal("SIGINT");
    expect(["SIGTERM", "SIGINT"].map((name) => process.listenerCount(name))).toEqual(before.map((count) => count - 1));
    expect(processes[0]!.told).toEqual(["serve", "drain"]);
  });
});

test("a port that can't be had is reported once, and ends all with 1", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { port: taken } = other.address() as AddressInfo;
  const { printed } = await begin(2);
  const [first] = processes;
  first!.boots({ address: { port: taken, hostname: "127.0.0.1", isLocal: false } });
  await until(() => printed.length > 0);
  await turns();
  expect([first!.killed, processes.length]).toEqual([["SIGKILL"], 1]);
  first!.dies(null, "SIGKILL");
  await until(() => exits.length > 0);
  expect([printed, exits]).toEqual([[expect.stringContaining(`Port ${taken}`)], [1]]);
});

test("the first worker is told that it is the first, and the others start when it serves", async () => {
  const { printed } = await serving(3);
  expect([processes.length, printed]).toEqual([3, ["Shop is listening on http://127.0.0.1/"]]);
  await pass(60_000);
  expect(processes).toHaveLength(3);
});
