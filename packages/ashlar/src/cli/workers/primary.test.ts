import cluster from "node:cluster";
import { EventEmitter, once } from "node:events";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { rawSocket } from "../../../test/support/raw-socket.ts";
import type { SheddingFacts } from "../../server/index.ts";
import type { Booted } from "./messages.ts";
import { Primary } from "./primary.ts";

const STALL_MS = 15_000;
const BOOT_MS = 60_000;
const DRAIN_SECONDS = 5;
const SHUTDOWN_SECONDS = 10;
const GRACE_MS = 3000;
const MAX_WAITING = 10;
const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** Never refuses a connection. */
const UNLIMITED: SheddingFacts = {
  maxMs: 0,
  neverRefused: ["/up"],
  origins: { others: {}, trusted: {} },
  pages: null,
  headersTimeoutMs: 15_000,
  maxHeaderBytes: 16_384,
};

/** A fake worker process, from the primary's point of view. */
class Process extends EventEmitter {
  readonly id: number;
  /** The messages that it received, except about connections. */
  readonly told: string[] = [];
  /** The connections handed to it, each with the function that reports that it was sent, or couldn't be. */
  readonly sockets: { readonly socket: Socket; readonly sent: (error: Error | null) => void }[] = [];
  /** A function to call when it reads a message, and how many connections it takes before that. */
  readonly #read: { readonly after: number; readonly run: () => void }[] = [];
  #taken = 0;
  readonly killed: string[] = [];
  /** The messages sent by the metrics relay. */
  readonly metrics: object[] = [];
  /** The time that it was given to end. */
  endsWithin: number | null = null;
  isGone = false;
  /** Whether the process is frozen. Its channel has room for one connection. */
  isFrozen = false;

  constructor(id: number) {
    super();
    this.id = id;
  }

  isConnected(): boolean {
    return !this.isGone;
  }

  send(
    message: { readonly type: string; readonly withinSeconds?: number },
    more?: Socket | ((error: null) => void),
    options?: { readonly keepOpen?: boolean },
    sent?: (error: Error | null) => void,
  ): void {
    if (more === undefined) {
      this.metrics.push(message);
      return;
    }
    if (typeof more === "function") {
      const answer = () => this.emit("message", { type: "pong" });
      this.#read.push({ after: this.sockets.length, run: message.type === "ping" ? answer : () => more(null) });
      if (message.type !== "ping") this.told.push(message.type);
      this.endsWithin = message.withinSeconds ?? null;
      this.#reads();
      return;
    }
    // Node closes its own copy of the socket unless told to keep it.
    if (options?.keepOpen !== true) more.destroy();
    this.sockets.push({ socket: more, sent: sent! });
    if (this.isFrozen && this.sockets.length === 1) sent!(null);
  }

  /** Takes some of the connections waiting for it, and answers pings that come before the next one. */
  takes(count = Number.POSITIVE_INFINITY): void {
    for (const last = this.#taken + count; this.#taken < Math.min(last, this.sockets.length); ) {
      const { sent } = this.sockets[this.#taken++]!;
      sent(null);
      this.#reads();
    }
  }

  #reads(): void {
    while (this.#read.length > 0 && this.#read[0]!.after <= this.#taken) this.#read.shift()!.run();
  }

  kill(signal: string): void {
    this.killed.push(signal);
  }

  boots(more: Partial<Booted> = {}): void {
    const log = { name: "Shop", environment: "test", log: { level: "debug" } } as const;
    const address = { port: 0, hostname: "127.0.0.1", isLocal: false };
    const times = { drainSeconds: DRAIN_SECONDS, shutdownTimeoutSeconds: SHUTDOWN_SECONDS, waitSeconds: 0 };
    this.emit("message", { type: "booted", address, log, ...times, shedding: UNLIMITED, ...more });
  }

  /** Stops taking connections, because it ends by itself. */
  closes(reason: string | null = null): void {
    this.emit("message", { type: "closing", reason });
  }

  serves(): void {
    this.emit("message", { type: "serving", url: "http://127.0.0.1/" });
  }

  dies(code: number | null = 0, signal: string | null = null): void {
    this.isGone = true;
    this.emit("exit", code, signal);
  }

  /** The connections that it has taken, including one in transit. */
  get count(): number {
    return this.sockets.length;
  }
}

let processes: Process[] = [];
let exits: unknown[] = [];
/** The log lines, without their common members. */
let lines: object[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  processes = [];
  exits = [];
  lines = [];
  const { writeSync } = fs;
  vi.spyOn(fs, "writeSync").mockImplementation(((descriptor: number, data: string, ...more: []) => {
    if (descriptor !== 1) return writeSync(descriptor, data, ...more);
    const { time, app, ...line } = JSON.parse(data);
    lines.push(line);
    return Buffer.byteLength(data);
  }) as typeof writeSync);
  syncBuiltinESMExports();
  vi.spyOn(cluster, "setupPrimary").mockImplementation(() => {});
  vi.spyOn(cluster, "fork").mockImplementation(() => {
    const process = new Process(processes.length + 1);
    processes.push(process);
    return process as never;
  });
  vi.spyOn(process, "exit").mockImplementation(((code: unknown) => void exits.push(code)) as never);
  vi.spyOn(process, "kill").mockReturnValue(true);
});

afterEach(async () => {
  // Ends everything that a test has left running, and frees the port.
  if (exits.length === 0) {
    await signal("SIGTERM");
    for (const process of processes) if (!process.isGone) process.dies();
    await pass(60_000);
    await until(() => exits.length > 0);
  }
  for (const name of SIGNALS) for (const one of ours(name)) process.off(name, one);
  // The listener of `relayMetrics`.
  for (const event of ["message", "disconnect"]) cluster.removeAllListeners(event);
  vi.useRealTimers();
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

async function turns(): Promise<void> {
  for (let count = 0; count < 20; count++) await nextTurn();
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await turns();
}

/** Waits for the network. */
async function until(isSo: () => boolean): Promise<void> {
  for (let turn = 0; !isSo(); turn++) {
    if (turn === 20_000) throw new Error(`It has not become true: ${isSo}`);
    await nextTurn();
  }
}

/** Sends a signal to this process, as far as the primary can tell. */
async function signal(name: (typeof SIGNALS)[number]): Promise<void> {
  for (const listener of ours(name)) listener(name);
  await turns();
}

const listenersOf = (name: string): NodeJS.SignalsListener[] => process.listeners(name as never) as never;

/** Vitest's own listeners. */
let theirs = new Set<NodeJS.SignalsListener>();

/** The primary's listeners for a signal. */
const ours = (name: string): NodeJS.SignalsListener[] => listenersOf(name).filter((one) => !theirs.has(one));

/** Starts a primary and its first worker. */
async function begin(count: number): Promise<{ readonly printed: string[] }> {
  const printed: string[] = [];
  const terminal = {
    root: "/",
    print: (line = "") => void printed.push(line),
    printError: (line: string) => void printed.push(line),
  };
  theirs = new Set(SIGNALS.flatMap(listenersOf));
  new Primary(terminal, count, [], { stallMs: STALL_MS, bootMs: BOOT_MS, maxWaiting: MAX_WAITING }).start();
  return { printed };
}

/** The port on which the primary listens. */
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

/** Connects, and waits until the primary has the connection. */
async function connection(): Promise<ReturnType<typeof rawSocket>> {
  const client = rawSocket(port);
  await until(() => client.socket.readyState === "open");
  await turns();
  return client;
}

/** Lets a worker die, and returns after how many milliseconds another one was started. */
async function replacedAfter(process: Process): Promise<number> {
  const before = processes.length;
  process.dies(1);
  for (let ms = 0; ms <= 60_000; ms += 100) {
    await pass(ms === 0 ? 0 : 100);
    if (processes.length > before) return ms;
  }
  throw new Error("It has not been replaced.");
}

/** Lets the most recently started worker serve and die, this many times, and then another one serve. */
async function diesOften(count: number): Promise<void> {
  for (let death = 0; death < count; death++) {
    await replacedAfter(processes.at(-1)!);
    await admit(processes.at(-1)!);
  }
}

describe("connections", () => {
  test("go to the worker with the fewest waiting connections, in turn, and this process's own copies are closed", async () => {
    await serving(2);
    for (let count = 0; count < 4; count++) await connection();
    const [first, second] = processes;
    second!.takes();
    expect(second!.count).toBe(2);
    for (let count = 0; count < 2; count++) await connection();
    expect(first!.sockets.map(({ socket }) => socket.destroyed)).toEqual([false]);
    expect(second!.sockets.map(({ socket }) => socket.destroyed)).toEqual([true, true, false]);
    for (const process of processes) process.takes();
    expect(processes.map(({ count }) => count)).toEqual([2, 4]);
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
    for (const process of processes) process.takes();
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

  test("that can't be sent to a worker go to another one", async () => {
    await serving(2);
    await connection();
    const given = processes.find(({ count }) => count === 1)!;
    vi.spyOn(given, "isConnected").mockReturnValue(false);
    given.sockets[0]!.sent(new Error("write EPIPE"));
    const other = processes.find((one) => one !== given)!;
    expect([other.count, other.sockets[0]!.socket]).toEqual([1, given.sockets[0]!.socket]);
    expect(other.sockets[0]!.socket.destroyed).toBe(false);
  });

  test("that wait for a worker that dies go to another one, once", async () => {
    await serving(2);
    for (let count = 0; count < 4; count++) await connection();
    const [first, second] = processes;
    const [given] = first!.sockets;
    first!.dies(null, "SIGKILL");
    // Node may report an undelivered message later.
    given!.sent(new Error("ERR_IPC_CHANNEL_CLOSED"));
    expect([first!.count, given!.socket.destroyed]).toEqual([1, false]);
    second!.takes();
    expect(second!.sockets.map(({ socket }) => socket)).toContain(given!.socket);
    expect(second!.count).toBe(4);
  });

  test("that wait for a worker are in its metrics", async () => {
    await serving(2);
    for (let count = 0; count < 3; count++) await connection();
    const [first, second] = processes;
    first!.takes();
    const left = 3 - first!.count;
    const tell = (worker: Process, message: object) => cluster.emit("message", worker as never, message);
    for (const worker of [first!, second!]) tell(worker, { type: "ashlar:metrics:ready" });
    tell(first!, { type: "ashlar:metrics:collect", id: "a" });
    for (const worker of [first!, second!]) tell(worker, { type: "ashlar:metrics:families", id: "a", families: [] });
    const waiting = (worker: number, value: number) => {
      return { worker, families: [expect.objectContaining({ values: [{ labels: {}, value }] }), expect.anything()] };
    };
    expect(first!.metrics.at(-1)).toMatchObject({
      workers: expect.arrayContaining([waiting(first!.id, 0), waiting(second!.id, left)]),
    });
    expect(left).toBeGreaterThan(0);
  });

  test("wait while no worker is left, and go to the next one", async () => {
    await serving(1);
    processes[0]!.dies(1);
    await pass(0);
    const waiting = rawSocket(port);
    await until(() => waiting.socket.readyState === "open");
    await turns();
    const [, next] = processes;
    await admit(next!);
    await until(() => next!.count === 1);
    // Connections are closed only if no worker takes them.
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

  test("beyond what may wait for a worker are closed, and counted in the log", async () => {
    await serving(2);
    const few = 3;
    for (let count = 0; count < MAX_WAITING * 2; count++) await connection();
    for (let round = 0; round < 2; round++) {
      for (let count = 0; count < few; count++) expect(await rawSocket(port).closed).toBe("");
      await pass(1000);
    }
    for (const process of processes) process.takes();
    expect(processes.map(({ count }) => count)).toEqual([MAX_WAITING, MAX_WAITING]);
    const msg = "Connections were closed, because too many wait for the workers.";
    expect(lines).toEqual(Array(2).fill({ level: "warn", connections: few, msg }));
  });
});

describe("a worker", () => {
  test("that takes no connections while some are waiting is killed, unlike a worker that takes some", async () => {
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

  test("that does not take the only connection that it was sent is killed", async () => {
    await serving(1);
    const [frozen] = processes;
    frozen!.isFrozen = true;
    await connection();
    expect(frozen!.sockets[0]!.socket.destroyed).toBe(true);
    await pass(STALL_MS - 1000);
    expect(frozen!.killed).toEqual([]);
    await pass(1000);
    expect(frozen!.killed).toEqual(["SIGKILL"]);
    // Security: the worker may have read from the connection.
    frozen!.dies(null, "SIGKILL");
    await pass(0);
    await admit(processes[1]!);
    expect(processes[1]!.count).toBe(0);
  });

  test("that doesn't respond is killed, even if no connections are waiting, unlike a worker that responds", async () => {
    await serving(2);
    const [frozen, running] = processes;
    // It has already been pinged for the last time.
    vi.spyOn(frozen!, "emit").mockReturnValue(false);
    await pass(STALL_MS + STALL_MS / 3 - 1000);
    expect(frozen!.killed).toEqual([]);
    await pass(1000);
    expect([frozen!.killed, running!.killed]).toEqual([["SIGKILL"], []]);
    vi.mocked(frozen!.emit).mockRestore();
    frozen!.dies(null, "SIGKILL");
    await pass(STALL_MS * 10);
    expect(running!.killed).toEqual([]);
  });

  test("that takes each connection late is not killed", async () => {
    await serving(1);
    const [worker] = processes;
    for (let count = 0; count < 3; count++) {
      await connection();
      await pass(STALL_MS - 1000);
      worker!.takes(1);
    }
    await pass(STALL_MS * 2);
    expect(worker!.killed).toEqual([]);
  });

  test("that was sent another connection before it confirmed the last is checked for that one, too", async () => {
    await serving(1);
    const [worker] = processes;
    for (let count = 0; count < 2; count++) {
      await connection();
      worker!.sockets[count]!.sent(null);
    }
    worker!.takes(1);
    await pass(STALL_MS - 1000);
    expect(worker!.killed).toEqual([]);
    await pass(1000);
    expect(worker!.killed).toEqual(["SIGKILL"]);
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

  test("has a time limit to boot as a replacement, which ends when it serves", async () => {
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

  test("that died while it booted is not killed, and the first one may take as long as it needs", async () => {
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

  test("that dies is replaced at once, the next time after a pause, and not at all if everything is ending", async () => {
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

  test("whose replacements fail to boot five times ends everything, with exit code 1", async () => {
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

  test("that boots resets the count of earlier failures", async () => {
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
    // The first death isn't a failed boot, because that worker has served. Three failed boots are too few to give up.
    for (let count = 0; count < 4; count++) {
      processes.at(-1)!.dies(1);
      await pass(30_000);
    }
    expect(exits).toEqual([]);
  });

  test("that dies again and again is replaced after two seconds if another one serves, and after one if none does", async () => {
    await serving(2);
    await diesOften(3);
    expect(await replacedAfter(processes.at(-1)!)).toBe(2000);
    // The other worker is the last one that serves. The new one is still booting.
    expect(await replacedAfter(processes[0]!)).toBe(1000);
  });

  test("that dies as the last one serving beside a retiring one is replaced after a second at most", async () => {
    await serving(1);
    await diesOften(3);
    const retiring = processes.at(-1)!;
    await signal("SIGHUP");
    await admit(processes.at(-1)!);
    await turns();
    expect(retiring.told).toEqual(["serve", "retire"]);
    expect(await replacedAfter(processes.at(-1)!)).toBe(1000);
  });

  test("that has served for ten seconds is replaced at once, however many died before", async () => {
    await serving(2);
    // Only the time during which it served counts.
    await pass(60_000);
    await diesOften(3);
    await pass(9999);
    expect(await replacedAfter(processes.at(-1)!)).toBe(2000);
    await admit(processes.at(-1)!);
    await pass(10_000);
    expect(await replacedAfter(processes.at(-1)!)).toBe(0);
  });

  test("that ends by itself is replaced at once, and gets only the connection that was being sent", async () => {
    await serving(2);
    const [ending, other] = processes;
    for (let count = 0; count < 6; count++) await connection();
    ending!.closes();
    expect([processes.length, ending!.told]).toEqual([2, ["serve", "closed"]]);
    await pass(0);
    expect(processes).toHaveLength(3);
    for (let count = 0; count < 2; count++) await connection();
    for (const process of [ending!, other!]) process.takes();
    expect([ending!.count, other!.count]).toEqual([1, 7]);
    ending!.dies(1);
    await admit(processes[2]!);
    await pass(60_000);
    expect([processes.length, exits]).toEqual([3, []]);
    // It counted as a single death.
    expect(await replacedAfter(processes[2]!)).toBe(0);
    expect(await replacedAfter(processes[3]!)).toBe(500);
  });

  test("that ends by itself and doesn't do so in time is killed", async () => {
    await serving(2);
    processes[0]!.closes();
    await pass(SHUTDOWN_SECONDS * 1000 + GRACE_MS - 1);
    expect(processes[0]!.killed).toEqual([]);
    await pass(1);
    expect(processes[0]!.killed).toEqual(["SIGKILL"]);
  });

  test("that is the only one, and ends by itself, leaves what waits for it to its successor", async () => {
    await serving(1);
    for (let count = 0; count < 3; count++) await connection();
    processes[0]!.closes();
    await pass(0);
    await admit(processes[1]!);
    processes[1]!.takes();
    expect(processes.map(({ count }) => count)).toEqual([1, 2]);
  });

  test("that ends by itself before it serves has failed to boot", async () => {
    const { printed } = await begin(1);
    processes[0]!.boots();
    await until(() => processes[0]!.told.includes("serve"));
    processes[0]!.closes("A mistake.");
    expect(processes[0]!.told).toEqual(["serve", "closed"]);
    processes[0]!.dies(1);
    await until(() => exits.length > 0);
    expect([printed, exits, processes.length]).toEqual([[], [1], 1]);
  });

  test("that can't be reached is not a failure of this process", async () => {
    await serving(1);
    processes[0]!.emit("error", new Error("write EPIPE"));
    await turns();
    expect([processes.length, processes[0]!.killed]).toEqual([1, []]);
  });

  test("that starts serving although it was killed for the end causes no others to start", async () => {
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
    // It gets no connections before it serves.
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

  test("kills a worker that doesn't end in the time that it has, and continues", async () => {
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

  test("hands a worker's waiting connections to its successor, and starts the time limit when the worker is told to end", async () => {
    await serving(1);
    const [old] = processes;
    for (let count = 0; count < 3; count++) await connection();
    await signal("SIGHUP");
    await admit(processes[1]!);
    await turns();
    processes[1]!.takes();
    expect(processes.map(({ count }) => count)).toEqual([1, 2]);
    expect(processes[1]!.sockets.map(({ socket }) => socket)).not.toContain(old!.sockets[0]!.socket);
    await pass(STALL_MS - 1000);
    old!.takes();
    await turns();
    await pass((DRAIN_SECONDS + SHUTDOWN_SECONDS) * 1000 + GRACE_MS - 1);
    expect(processes[0]!.killed).toEqual([]);
    await pass(1);
    expect(processes[0]!.killed).toEqual(["SIGKILL"]);
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

  test("whose new worker can't boot leaves the others alone, and the next roll starts over", async () => {
    await serving(2);
    await signal("SIGHUP");
    processes[2]!.dies(1);
    await pass(60_000);
    expect([processes.length, processes[0]!.told, processes[1]!.told]).toEqual([3, ["serve"], ["serve"]]);
    await signal("SIGHUP");
    expect(processes).toHaveLength(4);
  });

  test("whose new worker can't boot replaces the old one that died in the meantime", async () => {
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

  test("waits for the previous one", async () => {
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

  test("continues if a worker ends by itself while its successor boots, without starting another one", async () => {
    await serving(1);
    await signal("SIGHUP");
    processes[0]!.closes();
    await pass(1000);
    expect(processes).toHaveLength(2);
    await admit(processes[1]!);
    await turns();
    expect(processes[0]!.told).toEqual(["serve", "closed"]);
    processes[0]!.dies(1);
    await turns();
    expect(lines.at(-1)).toEqual({ level: "info", msg: "The workers have been replaced." });
  });

  test("whose new worker can't boot replaces the old one that ends by itself in the meantime", async () => {
    await serving(1);
    await signal("SIGHUP");
    processes[0]!.closes();
    processes[1]!.dies(1);
    await pass(1000);
    expect(processes).toHaveLength(3);
  });

  test("doesn't replace a worker again that ends by itself before its turn", async () => {
    await serving(2);
    await signal("SIGHUP");
    processes[1]!.closes();
    await pass(0);
    for (const process of [processes[3]!, processes[2]!]) await admit(process);
    await turns();
    processes[0]!.dies(0);
    await pass(1000);
    expect([processes.length, processes[1]!.told]).toEqual([4, ["serve", "closed"]]);
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

  test("doesn't replace a worker twice that died before its turn", async () => {
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

  test("replaces a worker that still boots, and kills it if it doesn't end", async () => {
    await begin(2);
    processes[0]!.boots();
    await until(() => processes[0]!.told.includes("serve"));
    processes[0]!.serves();
    const booting = processes[1];
    await signal("SIGHUP");
    await admit(processes[2]!);
    await turns();
    processes[0]!.dies(0);
    await turns();
    await admit(processes[3]!);
    await turns();
    expect([booting!.told, processes.length]).toEqual([["retire"], 4]);
    await pass((DRAIN_SECONDS + SHUTDOWN_SECONDS) * 1000 + GRACE_MS - 1);
    expect(booting!.killed).toEqual([]);
    await pass(1);
    expect(booting!.killed).toEqual(["SIGKILL"]);
    booting!.dies(null, "SIGKILL");
    await turns();
    // The next roll begins.
    await signal("SIGHUP");
    expect(processes).toHaveLength(5);
  });

  test("neither begins nor continues once all workers are ending", async () => {
    await serving(2);
    await signal("SIGHUP");
    await signal("SIGHUP");
    await signal("SIGTERM");
    processes[2]!.dies(null, "SIGKILL");
    await turns();
    expect([processes.length, processes[0]!.told]).toEqual([3, ["serve", "drain"]]);
  });

  test("doesn't continue if all workers start to end while one retires", async () => {
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

  test("starts nothing more once all workers are ending", async () => {
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

describe("the log", () => {
  const UNEXPECTED = "A worker ended unexpectedly.";
  const LATE = "A worker did not end in time. It is killed.";
  /** The warnings and errors logged since the last call. */
  const problems = (): object[] => {
    const all = lines as { readonly level: string }[];
    lines = [];
    return all.filter(({ level }) => level !== "info" && level !== "debug");
  };

  test("says where a server in production listens, with how many workers, and when it ends", async () => {
    await begin(1);
    const log = { name: "Shop", environment: "production", log: { level: "info" } } as const;
    processes[0]!.boots({ log });
    await until(() => processes[0]!.told.includes("serve"));
    processes[0]!.serves();
    await signal("SIGINT");
    expect(lines).toEqual([
      { level: "info", url: "http://127.0.0.1/", workers: 1, msg: "Shop is listening on http://127.0.0.1/" },
      { level: "info", signal: "SIGINT", msg: "Shutting down." },
    ]);
  });

  test("names a worker that is replaced, how it ended, and why it could not serve", async () => {
    await serving(2);
    processes[0]!.dies(null, "SIGSEGV");
    await pass(0);
    processes[2]!.emit("message", { type: "failed", reason: "Port 9000 is in use." });
    processes[2]!.dies(1);
    const msg = "A worker ended unexpectedly. It is replaced.";
    expect(problems()).toEqual([
      { level: "error", worker: 1, code: null, signal: "SIGSEGV", restartInMs: 0, msg },
      { level: "error", worker: 3, code: 1, signal: null, reason: "Port 9000 is in use.", restartInMs: 500, msg },
    ]);
  });

  test("says once, and why, that a worker ends by itself", async () => {
    await serving(1);
    processes[0]!.closes("A mistake.");
    processes[0]!.dies(1);
    await pass(0);
    await admit(processes[1]!);
    await signal("SIGHUP");
    processes[1]!.closes();
    processes[1]!.dies(1);
    await turns();
    const msg = "A worker shuts down by itself.";
    expect(problems()).toEqual([
      { level: "error", worker: 1, reason: "A mistake.", restartInMs: 0, msg: `${msg} It is replaced.` },
      { level: "error", worker: 2, msg },
    ]);
  });

  test("doesn't report the end of a worker that was told to end", async () => {
    await serving(2);
    await signal("SIGHUP");
    await admit(processes[2]!);
    await turns();
    processes[0]!.closes();
    await signal("SIGTERM");
    processes[1]!.closes();
    expect(problems()).toEqual([]);
  });

  test("says when workers can't boot anymore, and doesn't blame a signal", async () => {
    await serving(1);
    processes[0]!.dies(1);
    for (let count = 0; count < 5; count++) {
      await pass(30_000);
      problems();
      processes.at(-1)!.dies(1);
    }
    await until(() => exits.length > 0);
    const msg = "Workers can't boot anymore. The process is shutting down.";
    expect(lines).toEqual([{ level: "fatal", worker: 6, code: 1, signal: null, msg }]);
  });

  test("says when a roll begins, and when it has ended", async () => {
    await serving(1);
    await signal("SIGHUP");
    expect(lines).toEqual([{ level: "info", msg: "Replacing the workers." }]);
    await admit(processes[1]!);
    await turns();
    processes[0]!.dies(0);
    await turns();
    expect(lines.slice(1)).toEqual([{ level: "info", msg: "The workers have been replaced." }]);
  });

  test("says why the new worker of a roll could not boot", async () => {
    await serving(1);
    await signal("SIGHUP");
    processes[1]!.emit("message", { type: "failed", reason: "A mistake." });
    processes[1]!.dies(1);
    await turns();
    const msg = "A new worker could not boot. The others continue serving.";
    expect(lines.slice(1)).toEqual([{ level: "error", worker: 2, reason: "A mistake.", msg }]);
  });

  test.each([
    [1, null, [UNEXPECTED]],
    [null, "SIGKILL", [UNEXPECTED]],
    [0, null, []],
  ])("names a worker that dies with %s, %s while its successor boots: %o", async (code, killedBy, messages) => {
    await serving(1);
    await signal("SIGHUP");
    processes[0]!.dies(code, killedBy);
    await turns();
    expect(problems()).toEqual(messages.map((msg) => ({ level: "error", worker: 1, code, signal: killedBy, msg })));
  });

  // The worker has already logged the requests that it cut off.
  test.each([
    [1, null, []],
    [null, "SIGSEGV", [UNEXPECTED]],
    [0, null, []],
  ])("names a retired worker that ends with %s, %s: %o", async (code, killedBy, messages) => {
    await serving(1);
    await signal("SIGHUP");
    await admit(processes[1]!);
    await turns();
    processes[0]!.dies(code, killedBy);
    await turns();
    expect(problems()).toEqual(messages.map((msg) => ({ level: "error", worker: 1, code, signal: killedBy, msg })));
  });

  test("says once that a retired worker is killed", async () => {
    await serving(1);
    await signal("SIGHUP");
    await admit(processes[1]!);
    await pass((DRAIN_SECONDS + SHUTDOWN_SECONDS) * 1000 + GRACE_MS);
    processes[0]!.dies(null, "SIGKILL");
    await turns();
    expect(problems()).toEqual([{ level: "error", worker: 1, msg: LATE }]);
  });

  test("says once that the new worker of a roll never boots", async () => {
    await serving(1);
    await signal("SIGHUP");
    await pass(BOOT_MS);
    processes[1]!.dies(null, "SIGKILL");
    await turns();
    expect(problems()).toEqual([
      { level: "error", worker: 2, msg: "A new worker has not booted in 60 seconds. It is killed." },
      { level: "error", worker: 2, msg: "A new worker could not boot. The others continue serving." },
    ]);
  });

  test("says once that a retired worker takes no connections", async () => {
    await serving(1);
    await connection();
    await signal("SIGHUP");
    await admit(processes[1]!);
    await pass(STALL_MS);
    processes[0]!.dies(null, "SIGKILL");
    await turns();
    const msg = "A worker has not responded for 15 seconds. It is killed.";
    expect(problems()).toEqual([{ level: "error", worker: 1, waiting: 1, msg }]);
  });

  test("says once that a worker is killed that neither responds nor ends in time", async () => {
    await serving(1);
    await connection();
    await pass(STALL_MS - DRAIN_SECONDS * 1000);
    await signal("SIGTERM");
    await pass(60_000);
    const msg = "A worker has not responded for 15 seconds. It is killed.";
    expect(problems().filter((line) => "worker" in line)).toEqual([{ level: "error", worker: 1, waiting: 1, msg }]);
  });

  test("names only workers that were killed from outside when all end, also during a roll", async () => {
    await serving(4);
    await signal("SIGHUP");
    await admit(processes[4]!);
    await turns();
    processes[0]!.dies(0);
    await turns();
    // The second worker's successor boots, and is killed.
    await signal("SIGTERM");
    processes[1]!.dies(1);
    processes[5]!.dies(null, "SIGKILL");
    processes[2]!.dies(null, "SIGSEGV");
    processes[3]!.dies(1);
    await pass(DRAIN_SECONDS * 1000);
    await until(() => processes[4]!.told.includes("end"));
    await pass(SHUTDOWN_SECONDS * 1000 + GRACE_MS);
    processes[4]!.dies(null, "SIGKILL");
    await until(() => exits.length > 0);
    expect([problems(), exits]).toEqual([
      [
        { level: "error", worker: 3, code: null, signal: "SIGSEGV", msg: UNEXPECTED },
        { level: "error", worker: 5, msg: LATE },
      ],
      [1],
    ]);
  });
});

test.each([
  [1, null, []],
  [null, "SIGKILL", ["The application was ended by SIGKILL while it booted."]],
])("a first worker that ends with %s, %s while it boots is reported, unless it has said why", async (...ended) => {
  const { printed } = await begin(2);
  const [code, killedBy, messages] = ended;
  processes[0]!.dies(code, killedBy);
  await until(() => exits.length > 0);
  expect([printed, exits, processes.length]).toEqual([messages, [1], 1]);
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
    await until(() => processes.some(({ told }) => told.includes("end")));
    expect(await rawSocket(port).closed).toBe("");
    expect(late.socket.destroyed).toBe(false);
    for (const process of processes) process.takes();
    await until(() => processes.every(({ told }) => told.includes("end")));
    processes[0]!.dies(0);
    await turns();
    expect(exits).toEqual([]);
    processes[1]!.dies(0);
    await turns();
    expect(exits).toEqual([0]);
    await pass(60_000);
    expect(processes.map(({ killed }) => killed)).toEqual([[], []]);
  });

  test("is announced to a worker before the connections that wait for it", async () => {
    await serving(1);
    const [busy] = processes;
    for (let count = 0; count < 3; count++) await connection();
    await signal("SIGTERM");
    expect([busy!.told, busy!.count]).toEqual([["serve", "drain"], 1]);
    busy!.takes();
    expect(busy!.count).toBe(3);
  });

  test("hands over the connections that the system has accepted by then", async () => {
    await serving(1);
    await signal("SIGTERM");
    await pass(DRAIN_SECONDS * 1000 - 1);
    for (let count = 0; count < 3; count++) rawSocket(port);
    // They are now waiting for this process, which hasn't accepted them yet.
    await new Promise((resolve) => void process.nextTick(resolve));
    vi.advanceTimersByTime(1);
    await until(() => processes[0]!.count === 1);
    await turns();
    processes[0]!.takes();
    await until(() => processes[0]!.told.includes("end"));
    expect(processes[0]!.count).toBe(3);
  });

  test("tells a worker to end when it has taken what waited for it, within the remaining time", async () => {
    await serving(1);
    await signal("SIGTERM");
    for (let count = 0; count < 3; count++) await connection();
    await pass(DRAIN_SECONDS * 1000);
    processes[0]!.takes(2);
    await pass((SHUTDOWN_SECONDS / 2) * 1000 - 1);
    expect(processes[0]!.told).not.toContain("end");
    processes[0]!.takes(1);
    await until(() => processes[0]!.told.includes("end"));
    expect(processes[0]!.endsWithin).toBe(SHUTDOWN_SECONDS / 2 + 1);
    processes[0]!.dies(0);
    await until(() => exits.length > 0);
    expect([exits, lines.filter((line) => "connections" in line)]).toEqual([[0], []]);
  });

  test("closes a worker's waiting connections after half of the time, logs it, and lets the worker end, as a failure", async () => {
    await serving(1);
    await signal("SIGTERM");
    const clients = [await connection(), await connection(), await connection()];
    await pass(DRAIN_SECONDS * 1000);
    processes[0]!.takes(1);
    await pass((SHUTDOWN_SECONDS / 2) * 1000);
    await until(() => processes[0]!.told.includes("end"));
    expect(processes[0]!.endsWithin).toBe(SHUTDOWN_SECONDS / 2);
    expect(await Promise.all(clients.map(({ closed }) => closed))).toEqual(["", "", ""]);
    // The connections that Node still has come back without their sockets, and aren't counted again.
    processes[0]!.takes();
    processes[0]!.dies(0);
    await until(() => exits.length > 0);
    const msg = "Connections were closed, because too many wait for the workers.";
    expect(lines.filter((line) => "connections" in line)).toEqual([{ level: "warn", connections: 2, msg }]);
    expect([exits, processes[0]!.killed]).toEqual([[1], []]);
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

  test("doesn't wait for a worker that is still booting, which is not a failure", async () => {
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

  test("closes connections that are waiting for a worker, logs it, and then counts as a failure", async () => {
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
    const msg = "Connections were closed, because no worker is left.";
    expect(lines.at(-1)).toEqual({ level: "warn", connections: 1, msg });
    expect(exits).toEqual([1]);
  });

  test("immediately closes connections for which no worker is left, logs it, and then counts as a failure", async () => {
    await serving(1);
    await signal("SIGTERM");
    processes[0]!.dies(0);
    expect(await rawSocket(port).closed).toBe("");
    expect(exits).toEqual([]);
    await pass(DRAIN_SECONDS * 1000);
    await until(() => exits.length > 0);
    const msg = "Connections were closed, because no worker is left.";
    expect([lines.at(-1), exits]).toEqual([{ level: "warn", connections: 1, msg }, [1]]);
  });

  test("is logged with the connections that were closed in its last second", async () => {
    await serving(1);
    await signal("SIGTERM");
    processes[0]!.dies(0);
    await pass(DRAIN_SECONDS * 1000 - 500);
    expect(await rawSocket(port).closed).toBe("");
    await pass(500);
    await until(() => exits.length > 0);
    expect(lines.at(-1)).toMatchObject({ level: "warn", connections: 1 });
  });

  test("comes at once with a second signal, which kills the workers and has its usual effect on this process", async () => {
    await serving(2);
    await signal("SIGINT");
    expect([processes[0]!.told, processes[0]!.killed]).toEqual([["serve", "drain"], []]);
    expect(process.kill).not.toHaveBeenCalled();
    await signal("SIGTERM");
    expect(processes.map(({ killed }) => killed)).toEqual([["SIGKILL"], ["SIGKILL"]]);
    expect(process.kill).toHaveBeenCalledExactlyOnceWith(process.pid, "SIGTERM");
    expect(["SIGTERM", "SIGINT"].flatMap(ours)).toEqual([]);
  });
});

test("a port that can't be opened is reported once, and ends everything with exit code 1", async () => {
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

test("a port that can't be opened while everything ends is reported, and the end comes once", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { port: taken } = other.address() as AddressInfo;
  const { printed } = await begin(1);
  processes[0]!.boots({ address: { port: taken, hostname: "127.0.0.1", isLocal: false } });
  await signal("SIGTERM");
  await until(() => printed.length > 0);
  processes[0]!.dies(null, "SIGKILL");
  await until(() => exits.length > 0);
  await turns();
  expect([printed, exits]).toEqual([[expect.stringContaining(`Port ${taken}`)], [1]]);
});

test("the first worker knows that it is the first, and the others start when it serves", async () => {
  const { printed } = await serving(3);
  expect([processes.length, printed]).toEqual([3, ["Shop is listening on http://127.0.0.1/"]]);
  await pass(60_000);
  expect(processes).toHaveLength(3);
});
