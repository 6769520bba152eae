import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Logger, type RequestTrace, requestTraces } from "../../kernel/index.ts";
import type { MailRoom } from "./mail-places.ts";
import type { ClaimedRow } from "./outbox-claims.ts";
import type { OutboxRows, RowResult, RowWork } from "./outbox-rows.ts";
import { OutboxWorker } from "./outbox-worker.ts";
import type { ServerState } from "./server-outage.ts";

const CLAIM_MS = 30_000;
const POLL_MS = 10_000;
const OUTAGE_PAUSE_MS = 1000;
const DONE: RowResult = { pauseMs: null, server: null };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
});

afterEach(() => {
  const timers = vi.getTimerCount();
  vi.useRealTimers();
  vi.restoreAllMocks();
  expect(timers).toBe(0);
});

/** A fake table that records a worker's queries. */
class Table {
  /** The ids of rows that are due. */
  due: string[] = [];
  /** The ids of rows that another process has taken over. */
  readonly lost = new Set<string>();
  /** The error that statements fail with, or `null`. */
  failure: Error | null = null;
  /** Claims wait for this. */
  gate: Promise<void> = Promise.resolve();
  readonly claims: { readonly limit: number; readonly own: readonly string[] }[] = [];
  readonly renewals: (readonly string[])[] = [];
  readonly releases: (readonly string[])[] = [];

  async claim({ all: limit }: MailRoom, own: readonly string[]): Promise<ClaimedRow[]> {
    this.claims.push({ limit, own });
    await this.gate;
    if (this.failure !== null) throw this.failure;
    return this.due
      .splice(0, limit)
      .map((id) => ({ id, kind: "mail", content: "", attempts: 1, priority: "ordinary" }));
  }

  async renew(ids: readonly string[]): Promise<ReadonlySet<string>> {
    this.renewals.push(ids);
    if (this.failure !== null) throw this.failure;
    return new Set(ids.filter((id) => !this.lost.has(id)));
  }

  async release(ids: readonly string[]): Promise<void> {
    this.releases.push(ids);
    if (this.failure !== null) throw this.failure;
  }
}

/** Work that the test ends. */
class Attempts {
  readonly begun: string[] = [];
  readonly signals = new Map<string, AbortSignal>();
  readonly #ends = new Map<string, PromiseWithResolvers<RowResult>>();

  of(id: string): RowWork {
    return (signal) => {
      this.begun.push(id);
      this.signals.set(id, signal);
      const end = Promise.withResolvers<RowResult>();
      this.#ends.set(id, end);
      return end.promise;
    };
  }

  async end(id: string, pauseMs: number | null = null, server: ServerState = null): Promise<void> {
    this.#ends.get(id)!.resolve({ pauseMs, server });
    await turns();
  }

  async fail(id: string): Promise<void> {
    this.#ends.get(id)!.reject(new Error("The database is down."));
    await turns();
  }
}

function setUp(concurrency = 5) {
  const table = new Table();
  const attempts = new Attempts();
  const logged: string[] = [];
  const log = (level: string) => (_: object, message: string) => void logged.push(`${level}: ${message}`);
  const worker = new OutboxWorker({
    rows: table as unknown as OutboxRows,
    concurrency,
    claimMs: CLAIM_MS,
    pollMs: POLL_MS,
    outagePauseMs: OUTAGE_PAUSE_MS,
    logger: { error: log("error"), debug: log("debug") } as unknown as Logger,
    workOn: ({ id }) => attempts.of(id),
  });
  return { table, attempts, logged, worker };
}

/** Lets all pending promise callbacks run. */
async function turns(): Promise<void> {
  for (let count = 0; count < 5; count++) await nextTurn();
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await turns();
}

/** Runs a function for a request whose response hasn't been sent yet. @returns a function that sends the response */
function inRequest(work: () => void): () => void {
  const waiting: (() => void)[] = [];
  const trace: RequestTrace = { id: null, logger: null!, application: null, isHandedOver: false, waiting };
  requestTraces.run(trace, work);
  return () => {
    for (const one of waiting) one();
  };
}

describe("claims", () => {
  test("are renewed three times within their time, as long as a row is being worked on, and leave no timer", async () => {
    const { table, attempts, worker } = setUp();
    for (const id of ["1", "2"]) worker.add(id, attempts.of(id), performance.now(), "ordinary");
    await pass(CLAIM_MS);
    expect(table.renewals).toEqual([
      ["1", "2"],
      ["1", "2"],
      ["1", "2"],
    ]);
    await attempts.end("1");
    await pass(CLAIM_MS / 3);
    expect(table.renewals.slice(3)).toEqual([["2"]]);
    await attempts.end("2");
    expect([worker.pending, vi.getTimerCount()]).toEqual([0, 0]);
    // The claim of a later row is renewed as well.
    worker.add("3", attempts.of("3"), performance.now(), "ordinary");
    await pass(CLAIM_MS / 3);
    expect(table.renewals.slice(4)).toEqual([["3"]]);
    await attempts.end("3");
  });

  test.each([
    [(CLAIM_MS / 3) * 2 - 1, 0],
    [(CLAIM_MS / 3) * 2, 1],
  ])("are renewed before the attempt if it comes late: after %d ms, %d times", async (ms, renewals) => {
    const { table, attempts, worker } = setUp();
    const claimedAt = performance.now();
    await vi.advanceTimersByTimeAsync(ms);
    worker.add("1", attempts.of("1"), claimedAt, "ordinary");
    await turns();
    expect([table.renewals, attempts.begun]).toEqual([Array(renewals).fill(["1"]), ["1"]]);
    await attempts.end("1");
  });

  test("that another process has taken over before the attempt prevent it", async () => {
    const { table, attempts, worker, logged } = setUp();
    const claimedAt = performance.now();
    await vi.advanceTimersByTimeAsync(CLAIM_MS);
    table.lost.add("1");
    worker.add("1", attempts.of("1"), claimedAt, "ordinary");
    await turns();
    expect([table.renewals, attempts.begun, worker.pending, logged]).toEqual([[["1"]], [], 0, []]);
  });

  test("that can't be read before the attempt prevent it, which is logged", async () => {
    const { table, attempts, worker, logged } = setUp();
    const claimedAt = performance.now();
    await vi.advanceTimersByTimeAsync(CLAIM_MS);
    table.failure = new Error("The database is down.");
    worker.add("1", attempts.of("1"), claimedAt, "ordinary");
    await turns();
    expect([attempts.begun, worker.pending]).toEqual([[], 0]);
    expect(logged).toEqual(["error: The outbox could not be written."]);
  });

  test("that were renewed count from the renewal on", async () => {
    const { table, attempts, worker } = setUp(1);
    for (const id of ["1", "2"]) worker.add(id, attempts.of(id), performance.now(), "ordinary");
    await pass(CLAIM_MS);
    const renewals = table.renewals.length;
    await attempts.end("1");
    expect([attempts.begun, table.renewals.length]).toEqual([["1", "2"], renewals]);
    await attempts.end("2");
  });

  test("that are lost during an attempt abort that attempt only", async () => {
    const { table, attempts, worker } = setUp();
    for (const id of ["1", "2"]) worker.add(id, attempts.of(id), performance.now(), "ordinary");
    await turns();
    table.lost.add("1");
    await pass(CLAIM_MS / 3);
    expect(["1", "2"].map((id) => attempts.signals.get(id)!.aborted)).toEqual([true, false]);
    for (const id of ["1", "2"]) await attempts.end(id);
  });

  test("of rows that were completed during a renewal are not lost", async () => {
    const { table, attempts, worker } = setUp();
    for (const id of ["1", "2"]) worker.add(id, attempts.of(id), performance.now(), "ordinary");
    await turns();
    const renewed = Promise.withResolvers<ReadonlySet<string>>();
    vi.spyOn(table, "renew").mockReturnValue(renewed.promise);
    await pass(CLAIM_MS / 3);
    await attempts.end("1");
    renewed.resolve(new Set(["2"]));
    await turns();
    expect(attempts.signals.get("1")!.aborted).toBe(false);
    await attempts.end("2");
  });

  test("that can't be renewed are renewed the next time", async () => {
    const { table, attempts, worker, logged } = setUp();
    worker.add("1", attempts.of("1"), performance.now(), "ordinary");
    table.failure = new Error("The database is down.");
    await pass(CLAIM_MS / 3);
    table.failure = null;
    await pass(CLAIM_MS / 3);
    expect([table.renewals.length, logged]).toEqual([2, ["debug: Claims in the outbox could not be renewed."]]);
    expect(attempts.signals.get("1")!.aborted).toBe(false);
    await attempts.end("1");
  });
});

describe("attempts", () => {
  test("begin after the response", async () => {
    const { attempts, worker } = setUp();
    const respond = inRequest(() => worker.add("1", attempts.of("1"), performance.now(), "ordinary"));
    await turns();
    expect([attempts.begun, worker.pending]).toEqual([[], 1]);
    respond();
    expect(attempts.begun).toEqual([]);
    await turns();
    expect(attempts.begun).toEqual(["1"]);
    await attempts.end("1");
  });

  test("run as many at once as configured, in the order of the rows", async () => {
    const { attempts, worker } = setUp(2);
    for (const id of ["1", "2", "3", "4"]) worker.add(id, attempts.of(id), performance.now(), "ordinary");
    await turns();
    expect(attempts.begun).toEqual(["1", "2"]);
    await attempts.end("2");
    expect(attempts.begun).toEqual(["1", "2", "3"]);
    await attempts.end("1");
    expect([attempts.begun, worker.pending]).toEqual([["1", "2", "3", "4"], 2]);
    for (const id of ["3", "4"]) await attempts.end(id);
  });

  test("that fail are logged, and don't hold up anything", async () => {
    const { attempts, worker, logged } = setUp(1);
    for (const id of ["1", "2"]) worker.add(id, attempts.of(id), performance.now(), "ordinary");
    await turns();
    await attempts.fail("1");
    expect([attempts.begun, logged]).toEqual([["1", "2"], ["error: The outbox could not be written."]]);
    await attempts.end("2");
    expect(worker.pending).toBe(0);
  });

  test("with a pause are looked up when it is over, and not before", async () => {
    const { table, attempts, worker } = setUp();
    worker.add("1", attempts.of("1"), performance.now(), "ordinary");
    await turns();
    await attempts.end("1", 500);
    expect([worker.pending, table.claims]).toEqual([0, []]);
    await pass(500);
    expect(table.claims).toEqual([]);
    table.due = ["1"];
    await pass(1);
    expect([table.claims, attempts.begun]).toEqual([[{ limit: 5, own: [] }], ["1", "1"]]);
    await attempts.end("1");
  });

  test("whose pause is over leave nothing to clear", async () => {
    const { attempts, worker } = setUp();
    worker.add("1", attempts.of("1"), performance.now(), "ordinary");
    await turns();
    await attempts.end("1", 500);
    await pass(501);
    const cleared = vi.spyOn(globalThis, "clearTimeout");
    await worker.close(1);
    // The timers of close(): for half of its time, and for its end.
    expect(cleared.mock.calls.filter(([timer]) => timer !== undefined)).toHaveLength(2);
  });

  test("with a pause aren't looked up earlier if the timer is early", async () => {
    const { table, attempts, worker } = setUp();
    worker.add("1", attempts.of("1"), performance.now(), "ordinary");
    await turns();
    await attempts.end("1", 500);
    const early = performance.now() + 500;
    const clock = vi.spyOn(performance, "now").mockReturnValue(early);
    await pass(501);
    expect([table.claims, vi.getTimerCount()]).toEqual([[], 1]);
    clock.mockRestore();
    await pass(1);
    expect([table.claims.length, vi.getTimerCount()]).toEqual([1, 0]);
  });

  test("whose pause ends during a poll are looked up after it, because the poll may have been too early", async () => {
    const { table, attempts, worker } = setUp();
    worker.add("1", attempts.of("1"), performance.now(), "ordinary");
    await turns();
    await attempts.end("1", 500);
    const gate = Promise.withResolvers<void>();
    table.gate = gate.promise;
    void worker.look();
    await pass(501);
    expect(table.claims).toHaveLength(1);
    gate.resolve();
    await turns();
    expect(table.claims).toHaveLength(2);
  });
});

describe("polls", () => {
  test("come at once and then from time to time, not in step with other processes", async () => {
    const { table, worker } = setUp();
    worker.start();
    // The second call does nothing.
    worker.start();
    await turns();
    expect([table.claims.length, vi.getTimerCount()]).toEqual([1, 1]);
    for (const looks of [1, 2, 3]) {
      let ms = 0;
      for (; table.claims.length === looks; ms += 50) await pass(50);
      expect(ms).toBeGreaterThanOrEqual(POLL_MS * 0.75);
      expect(ms).toBeLessThanOrEqual(POLL_MS * 1.25 + 100);
    }
    const pauses = new Set<unknown>();
    const timers = vi.spyOn(globalThis, "setTimeout");
    for (let count = 0; count < 40; count++) {
      await pass(POLL_MS);
      for (const [, ms] of timers.mock.calls.splice(0)) pauses.add(ms);
    }
    expect(pauses.size).toBeGreaterThan(1);
    await worker.close(1);
  });

  test("wait for the previous one", async () => {
    const { table, worker } = setUp();
    worker.start();
    await turns();
    const gate = Promise.withResolvers<void>();
    table.gate = gate.promise;
    await pass(POLL_MS * 2);
    expect([table.claims.length, vi.getTimerCount()]).toEqual([2, 0]);
    gate.resolve();
    await turns();
    expect(vi.getTimerCount()).toBe(1);
    await worker.close(1);
  });

  test("claim as many rows as there is room for, none of this process's own, and more as soon as there is room", async () => {
    const { table, attempts, worker } = setUp(2);
    table.due = ["a", "b", "c", "d", "e"];
    worker.add("1", attempts.of("1"), performance.now(), "ordinary");
    await turns();
    await worker.look();
    expect(table.claims).toEqual([{ limit: 1, own: ["1"] }]);
    // Without capacity, it doesn't even poll.
    await worker.look();
    expect(table.claims).toHaveLength(1);
    await attempts.end("1");
    expect(table.claims.slice(1)).toEqual([{ limit: 1, own: ["a"] }]);
    for (const id of ["a", "b", "c", "d"]) await attempts.end(id);
    expect(attempts.begun).toEqual(["1", "a", "b", "c", "d", "e"]);
    const looks = table.claims.length;
    await attempts.end("e");
    expect(worker.pending).toBe(0);
    // The last poll found fewer rows than it could take.
    await turns();
    expect(table.claims.length).toBe(looks);
  });

  test("are left to other processes while this one has more than a thousand rows whose responses haven't been sent", async () => {
    const { table, attempts, worker } = setUp();
    const add = (id: number) => worker.add(String(id), async () => DONE, performance.now(), "ordinary");
    const respond = inRequest(() => {
      for (let id = 0; id < 1000; id++) add(id);
    });
    await worker.look();
    expect(table.claims.map(({ own }) => own.length)).toEqual([1000]);
    const respondToo = inRequest(() => add(1000));
    await worker.look();
    expect(table.claims).toHaveLength(1);
    respond();
    respondToo();
    await worker.settled();
    await worker.look();
    expect(table.claims.map(({ own }) => own.length)).toEqual([1000, 0]);
    expect(attempts.begun).toEqual([]);
  });

  test("that fail are logged once per outage", async () => {
    const { table, worker, logged } = setUp();
    const line = "error: The outbox of mails could not be read. It is tried again.";
    table.failure = new Error("The database is down.");
    for (let count = 0; count < 3; count++) await worker.look();
    expect(logged).toEqual([line]);
    table.failure = null;
    await worker.look();
    table.failure = new Error("The database is down again.");
    for (let count = 0; count < 2; count++) await worker.look();
    expect(logged).toEqual([line, line]);
  });
});

describe("settled() resolves", () => {
  test("once each row has been tried, including those that wait for a response, once", async () => {
    const { attempts, worker } = setUp();
    let isSettled = false;
    const respond = inRequest(() => worker.add("1", attempts.of("1"), performance.now(), "ordinary"));
    const settled = worker.settled().then(() => (isSettled = true));
    await turns();
    expect([attempts.begun, isSettled]).toEqual([["1"], false]);
    respond();
    await turns();
    expect(attempts.begun).toEqual(["1"]);
    await attempts.end("1");
    await settled;
  });

  test("once a row that the caller works on itself has been tried", async () => {
    const { attempts, worker } = setUp();
    const run = worker.run(worker.adopt("1", attempts.of("1"), performance.now(), "ordinary"));
    let isSettled = false;
    const settled = worker.settled().then(() => (isSettled = true));
    await turns();
    expect([attempts.begun, isSettled]).toEqual([["1"], false]);
    await attempts.end("1");
    await Promise.all([run, settled]);
  });

  test("after a poll that finds nothing", async () => {
    const { table, worker } = setUp();
    const gate = Promise.withResolvers<void>();
    table.gate = gate.promise;
    void worker.look();
    const settled = worker.settled();
    await turns();
    gate.resolve();
    await settled;
  });

  test("after a poll in progress", async () => {
    const { table, attempts, worker } = setUp();
    const gate = Promise.withResolvers<void>();
    table.gate = gate.promise;
    table.due = ["1"];
    let isSettled = false;
    void worker.look();
    const settled = worker.settled().then(() => (isSettled = true));
    gate.resolve();
    await turns();
    expect([attempts.begun, isSettled]).toEqual([["1"], false]);
    await attempts.end("1");
    await settled;
  });
});

describe("close()", () => {
  test("doesn't wait for responses", async () => {
    const { attempts, worker } = setUp();
    inRequest(() => worker.add("1", attempts.of("1"), performance.now(), "ordinary"));
    const closed = worker.close(10);
    await turns();
    expect(attempts.begun).toEqual(["1"]);
    await attempts.end("1");
    expect(await closed).toBe(0);
  });

  test("waits for claimed work, and leaves nothing behind", async () => {
    const { table, attempts, worker } = setUp(1);
    worker.start();
    for (const id of ["1", "2"]) worker.add(id, attempts.of(id), performance.now(), "ordinary");
    const closed = worker.close(10);
    await turns();
    await attempts.end("1");
    await attempts.end("2");
    expect([await closed, table.releases, vi.getTimerCount()]).toEqual([0, [], 0]);
    expect(attempts.signals.get("2")!.aborted).toBe(true);
    expect(worker.pending).toBe(0);
  });

  test("aborts longer work, and releases it along with work that hasn't begun", async () => {
    const { table, attempts, worker, logged } = setUp(1);
    for (const id of ["1", "2"]) worker.add(id, attempts.of(id), performance.now(), "ordinary");
    await turns();
    const closed = worker.close(10);
    await pass(9999);
    expect([attempts.signals.get("1")!.aborted, table.releases]).toEqual([false, []]);
    await pass(1);
    expect(attempts.signals.get("1")!.aborted).toBe(true);
    // The row of the aborted attempt isn't released yet, because the server may have accepted the mail.
    expect(table.releases).toEqual([]);
    await pass(499);
    expect(table.releases).toEqual([]);
    await pass(1);
    expect([await closed, table.releases, worker.pending]).toEqual([2, [["1", "2"]], 0]);
    // Its later result doesn't matter, and no other attempt begins.
    await attempts.fail("1");
    expect([attempts.begun, logged]).toEqual([["1"], []]);
    await worker.settled();
  });

  test("releases rows as soon as the aborted attempts have ended", async () => {
    const { table, attempts, worker } = setUp();
    for (const id of ["1", "2"]) worker.add(id, attempts.of(id), performance.now(), "ordinary");
    const closed = worker.close(10);
    await pass(10_000);
    await attempts.end("1");
    expect(table.releases).toEqual([]);
    await attempts.end("2");
    expect([await closed, table.releases]).toEqual([2, [["1", "2"]]]);
  });

  test("lets attempts begin in the first half of its time, and ends once these have", async () => {
    const { table, attempts, worker } = setUp(2);
    for (const id of ["1", "2", "3", "4", "5"]) worker.add(id, attempts.of(id), performance.now(), "ordinary");
    const closed = worker.close(10);
    await pass(4999);
    await attempts.end("1");
    expect(attempts.begun).toEqual(["1", "2", "3"]);
    await pass(1);
    await attempts.end("2");
    await attempts.end("3");
    expect(attempts.begun).toEqual(["1", "2", "3"]);
    expect([await closed, table.releases]).toEqual([2, [["4", "5"]]]);
    expect(["1", "2", "3"].map((id) => attempts.signals.get(id)!.aborted)).toEqual([true, true, true]);
  });

  test("ends with the first half if nothing is running then, and releases work that has not begun", async () => {
    const { table, attempts, worker } = setUp();
    worker.adopt("1", attempts.of("1"), performance.now(), "ordinary");
    let isClosed = false;
    const closed = worker.close(10).finally(() => (isClosed = true));
    await pass(4999);
    expect(isClosed).toBe(false);
    await pass(1);
    expect([isClosed, table.releases]).toEqual([true, [["1"]]]);
    expect([await closed, attempts.begun]).toEqual([1, []]);
  });

  test("ends at once if the claim on the last row can't be checked", async () => {
    const { table, worker } = setUp(1);
    let asked = 0;
    table.renew = () => {
      asked++;
      return Promise.reject(new Error("The database is down."));
    };
    worker.add("1", async () => DONE, performance.now() - CLAIM_MS, "ordinary");
    expect([await worker.close(10), asked]).toEqual([0, 1]);
  });

  test("waits until rows are released", async () => {
    const { table, attempts, worker } = setUp();
    const released = Promise.withResolvers<void>();
    vi.spyOn(table, "release").mockReturnValue(released.promise);
    worker.add("1", attempts.of("1"), performance.now(), "ordinary");
    let isClosed = false;
    const closed = worker.close(1).then(() => (isClosed = true));
    await pass(1500);
    expect(isClosed).toBe(false);
    released.resolve();
    await closed;
  });

  test("doesn't fail if rows can't be released, but logs it", async () => {
    const { table, attempts, worker, logged } = setUp();
    worker.add("1", attempts.of("1"), performance.now(), "ordinary");
    table.failure = new Error("The database is down.");
    const closed = worker.close(1);
    await pass(1500);
    expect(await closed).toBe(1);
    expect(logged).toEqual(["error: Mails in the outbox could not be released: they wait until their claims end."]);
  });

  test("doesn't poll anymore while it waits, whatever is due", async () => {
    const { table, attempts, worker } = setUp(2);
    for (const id of ["1", "2", "3"]) worker.add(id, attempts.of(id), performance.now(), "ordinary");
    await turns();
    await attempts.end("1", 100);
    // The worker is at capacity, and would poll as soon as an attempt ends.
    await worker.look();
    const closed = worker.close(600);
    const timers = vi.getTimerCount();
    worker.start();
    expect(vi.getTimerCount()).toBe(timers);
    table.due = ["4"];
    await attempts.end("2", 100);
    await pass(POLL_MS * 2);
    await attempts.end("3", 100);
    expect([await closed, table.claims, table.due]).toEqual([0, [], ["4"]]);
  });

  test("waits for a poll in progress, works on the rows found, and doesn't poll again", async () => {
    const { table, attempts, worker } = setUp(1);
    worker.start();
    await turns();
    const gate = Promise.withResolvers<void>();
    table.gate = gate.promise;
    table.due = ["1", "2"];
    await pass(POLL_MS * 2);
    const closed = worker.close(600);
    gate.resolve();
    await turns();
    expect([attempts.begun, vi.getTimerCount()]).toEqual([["1"], 3]);
    await pass(POLL_MS * 2);
    await attempts.end("1");
    expect([await closed, table.claims.length, table.releases, table.due]).toEqual([0, 2, [], ["2"]]);
  });

  test("releases rows that a poll finds too late", async () => {
    const { table, attempts, worker } = setUp();
    const gate = Promise.withResolvers<void>();
    table.gate = gate.promise;
    table.due = ["1"];
    void worker.look();
    const closed = worker.close(1);
    await pass(1000);
    expect(await closed).toBe(0);
    gate.resolve();
    await turns();
    expect([table.releases, attempts.begun, worker.pending]).toEqual([[["1"]], [], 0]);
  });

  test("doesn't report a poll that fails after the time", async () => {
    const { table, worker, logged } = setUp();
    const gate = Promise.withResolvers<void>();
    table.gate = gate.promise;
    table.failure = new Error("The database is closed.");
    void worker.look();
    const closed = worker.close(1);
    await pass(1000);
    await closed;
    gate.resolve();
    await turns();
    expect(logged).toEqual([]);
  });
});

test("no timer of the outbox keeps the process alive", async () => {
  const intervals = vi.spyOn(globalThis, "setInterval");
  const timeouts = vi.spyOn(globalThis, "setTimeout");
  const { attempts, worker } = setUp();
  worker.start();
  for (const id of ["1", "2"]) worker.add(id, attempts.of(id), performance.now(), "ordinary");
  await turns();
  await attempts.end("1", 500);
  const timers = [...intervals.mock.results, ...timeouts.mock.results].map(({ value }) => value.hasRef());
  expect(timers).toEqual([false, false, false]);
  const closed = worker.close(1);
  await attempts.end("2");
  await closed;
});

describe("an outage of the mail server", () => {
  test("counts once: one mail at a time is tried, after growing pauses, and the others stay in the table", async () => {
    const { table, attempts, worker } = setUp(2);
    for (const id of ["1", "2", "3", "4"]) worker.add(id, attempts.of(id), performance.now(), "ordinary");
    await turns();
    for (const id of ["1", "2"]) await attempts.end(id, null, "unreachable");
    expect([attempts.begun, table.releases, worker.pending]).toEqual([["1", "2"], [["3", "4"]], 0]);
    // A mail that is queued in the meantime isn't tried, or held in memory.
    worker.add("5", attempts.of("5"), performance.now(), "account");
    await turns();
    expect([attempts.begun.length, table.releases.at(-1), worker.pending]).toEqual([2, ["5"], 0]);
    table.due = ["5", "3", "4", "6"];
    for (const [ms, id] of [
      [OUTAGE_PAUSE_MS, "5"],
      [2 * OUTAGE_PAUSE_MS, "3"],
      [4 * OUTAGE_PAUSE_MS, "4"],
    ] as const) {
      await worker.look();
      await pass(ms);
      expect(attempts.begun.filter((one) => one !== id)).not.toContain("6");
      await pass(1);
      expect(attempts.begun.at(-1)).toBe(id);
      if (id !== "4") await attempts.end(id, null, "unreachable");
    }
    table.due.push("7", "8");
    await attempts.end("4", null, "reached");
    // From now on, as many at once as there are places, without a pause.
    expect(attempts.begun.slice(-2)).toEqual(["6", "7"]);
    for (const id of ["6", "7", "8"]) await attempts.end(id, null, "reached");
    await worker.close(1);
  });

  test("doesn't hold up promised work, which needs no mail server", async () => {
    const { table, attempts, worker } = setUp(1);
    worker.add("1", attempts.of("1"), performance.now(), "ordinary");
    await turns();
    await attempts.end("1", null, "unreachable");
    table.due = ["2", "3", "4"];
    await pass(OUTAGE_PAUSE_MS + 1);
    for (const id of ["2", "3", "4"]) await attempts.end(id);
    expect(attempts.begun).toEqual(["1", "2", "3", "4"]);
    await worker.close(1);
  });

  test("is tried every 15 seconds at most", async () => {
    const { table, attempts, worker } = setUp(1);
    worker.add("0", attempts.of("0"), performance.now(), "ordinary");
    await turns();
    for (let tries = 0; tries < 20; tries++) {
      await attempts.end(String(tries), null, "unreachable");
      table.due = [String(tries + 1)];
      await pass(15_001);
      expect(attempts.begun).toHaveLength(tries + 2);
    }
    await attempts.end("20", null, "reached");
    await worker.close(1);
  });

  test("sets no negative timer if the time has already passed", async () => {
    const delays: unknown[] = [];
    const { attempts, worker } = setUp(1);
    const set = vi.spyOn(globalThis, "setTimeout").mockImplementation(((_: () => void, ms: number) => {
      delays.push(ms);
      return { unref: () => null } as never;
    }) as never);
    worker.add("1", attempts.of("1"), performance.now(), "ordinary");
    await turns();
    await attempts.end("1", -5000);
    set.mockRestore();
    expect(delays).toEqual([0]);
    await worker.close(1);
  });
});
