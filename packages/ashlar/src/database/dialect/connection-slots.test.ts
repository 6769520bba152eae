import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createLogger } from "../../boot/index.ts";
import { type RequestTrace, requestTraces } from "../../kernel/index.ts";
import { RefusedError } from "../../support/index.ts";
import { ConnectionSlots } from "./connection-slots.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  return () => void vi.useRealTimers();
});

function make(poolSize: number, maxWaiting = 10, maxQueueMs = 0) {
  const place = { where: "config/database.ts: DATABASES.main", maxQueueMs };
  const slots = new ConnectionSlots({ poolSize, maxWaiting, acquireTimeoutMs: 5000 }, place);
  const events: string[] = [];
  const take = async (name: string): Promise<void> => {
    await slots.take().then(
      () => events.push(name),
      ({ code, message }) => events.push(`${name}: ${code} ${message}`),
    );
  };
  /** The events since the last call. */
  const since = async (): Promise<string[]> => {
    await nextTurn();
    return events.splice(0);
  };
  return { slots, take, since };
}

const LATE = "E_OVERLOADED No connection to the database was free within 5000 ms.";

test("only so many callers have a connection at once, and each returned connection goes to the caller that has waited longest", async () => {
  const { slots, take, since } = make(2);
  for (const name of ["a", "b", "c", "d", "e"]) void take(name);
  expect([await since(), slots.waiting]).toEqual([["a", "b"], 3]);
  slots.release();
  // A caller that arrives in between waits behind the others.
  void take("f");
  expect([await since(), slots.waiting]).toEqual([["c"], 3]);
  for (let n = 0; n < 3; n++) slots.release();
  expect([await since(), slots.waiting]).toEqual([["d", "e", "f"], 0]);
  void take("g");
  expect(await since()).toEqual([]);
  slots.release();
  expect(await since()).toEqual(["g"]);
  for (let n = 0; n < 2; n++) slots.release();
  for (const name of ["h", "i", "j"]) void take(name);
  expect([await since(), slots.waiting]).toEqual([["h", "i"], 1]);
});

test("if the queue is full, a caller is refused at once", async () => {
  const { slots, take, since } = make(1, 2);
  for (const name of ["a", "b", "c", "d"]) void take(name);
  const full = "E_OVERLOADED All connections to the database are in use, and 2 callers are waiting for one.";
  expect(await since()).toEqual(["a", `d: ${full}`]);
  slots.release();
  void take("e");
  expect([await since(), slots.waiting]).toEqual([["b"], 2]);
});

test("a caller that has waited too long gives up its place to the next", async () => {
  const { slots, take, since } = make(1);
  void take("a");
  void take("late");
  vi.advanceTimersByTime(4999);
  void take("b");
  expect(await since()).toEqual(["a"]);
  vi.advanceTimersByTime(1);
  expect([await since(), slots.waiting]).toEqual([[`late: ${LATE}`], 1]);
  slots.release();
  expect([await since(), vi.getTimerCount()]).toEqual([["b"], 0]);
  slots.release();
  void take("c");
  expect(await since()).toEqual(["c"]);
});

const inRequest = (request: RequestTrace, run: () => void): void => requestTraces.run(request, run);

function request(): RequestTrace {
  return { id: null, logger: silent, application: null, isHandedOver: false, waiting: null };
}

const silent = createLogger({ name: "x", environment: "test", log: { level: "silent", requests: false } });

/** Stops the clock by which requests wait. */
function stoppedClock(): (ms: number) => void {
  let time = 1000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => clock.mockRestore());
  return (ms) => {
    time += ms;
  };
}

const REFUSED = "E_OVERLOADED All connections to the database are in use, and others have waited too long for one.";

test("S150 a request that has had a connection gets the next one before those that only begin, and so does other work", async () => {
  const { slots, take, since } = make(1, 10, 1000);
  const first = request();
  inRequest(first, () => void take("a"));
  for (const name of ["b", "c"]) inRequest(request(), () => void take(name));
  inRequest(first, () => void take("a again"));
  void take("a job");
  inRequest({ ...request(), isHandedOver: true }, () => void take("after a response"));
  for (let count = 0; count < 5; count++) {
    await nextTurn();
    slots.release();
  }
  expect(await since()).toEqual(["a", "a again", "a job", "after a response", "b", "c"]);
});

test("S150 during an overload, requests are refused before they do anything, and running ones are not", async () => {
  const pass = stoppedClock();
  const { slots, take, since } = make(1, 1000, 1000);
  const begun = request();
  inRequest(begun, () => void take("begun"));
  for (let count = 0; count < 100; count++) inRequest(request(), () => void take(`${count}`));
  // The queue is too long from 200 ms on, so at 800 ms it has been for more than half a second.
  for (let count = 0; count < 8; count++) {
    pass(100);
    slots.release();
  }
  // Then all callers that have waited for more than 100 ms are refused, except the last ones.
  const events = await since();
  expect(events.filter((event) => !event.includes(REFUSED))).toEqual([
    "begun",
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "84",
  ]);
  expect(events.filter((event) => event.includes(REFUSED))).toEqual(
    Array.from({ length: 77 }, (_, index) => `${index + 7}: ${REFUSED}`),
  );
  expect(slots.waiting).toBe(15);
  for (let count = 0; count < 20; count++) inRequest(request(), () => void take(`late ${count}`));
  inRequest(begun, () => void take("begun again"));
  // 15 waiting callers are few enough; the 16th makes it too many for others.
  expect(await since()).toEqual(Array.from({ length: 19 }, (_, index) => `late ${index + 1}: ${REFUSED}`));
  slots.release();
  expect(await since()).toEqual(["begun again"]);
});

test("S150 a request that had to wait for its first connection gets the next one before those that only begin, too", async () => {
  const { slots, take, since } = make(1, 10, 1000);
  const waits = request();
  inRequest(request(), () => void take("a"));
  inRequest(waits, () => void take("b"));
  inRequest(request(), () => void take("c"));
  slots.release();
  expect(await since()).toEqual(["a", "b"]);
  inRequest(waits, () => void take("b again"));
  slots.release();
  expect(await since()).toEqual(["b again"]);
});

test("S150 a refusal states how long the request has waited, and whether another one would be refused now", async () => {
  const pass = stoppedClock();
  const { slots } = make(1, 1000, 1000);
  await slots.take();
  const refusals: RefusedError["refusal"][] = [];
  const begin = () => {
    inRequest(request(), () => void slots.take().catch(({ refusal }: RefusedError) => void refusals.push(refusal)));
  };
  const refusal = (waitedMs: number) => ({
    why: "There are more requests than the database connections can serve: raise poolSize, or make statements faster.",
    bindings: { connection: "config/database.ts: DATABASES.main" },
    waitedMs,
    stands: expect.any(Function),
  });
  for (let count = 0; count < 100; count++) begin();
  for (let count = 0; count < 8; count++) {
    pass(100);
    slots.release();
  }
  await nextTurn();
  expect(refusals.splice(0)).toEqual(Array.from({ length: 77 }, () => refusal(800)));
  expect([slots.waiting, vi.getTimerCount()]).toEqual([15, 15]);
  // The 16th makes the queue too long for others.
  begin();
  begin();
  await nextTurn();
  expect(refusals).toEqual([refusal(0)]);
  expect(refusals[0]!.stands!()).toBe(true);
  slots.release();
  expect(refusals[0]!.stands!()).toBe(false);
});

test("S150 requests that come soon after others have waited are a burst, once none has waited in between", async () => {
  const pass = stoppedClock();
  const { slots, take, since } = make(1, 1000, 1000);
  const names = Array.from({ length: 20 }, (_, index) => `${index}`);
  for (let burst = 0; burst < 2; burst++) {
    await slots.take();
    for (const name of names) inRequest(request(), () => void take(name));
    pass(200);
    for (let count = 0; count <= names.length; count++) slots.release();
    expect(await since()).toEqual(names);
    pass(400);
  }
});

test.each([{}, { maxQueueMs: 0 }])("without a maximum wait, no request is refused behind others: %o", async (place) => {
  const pass = stoppedClock();
  const slots = new ConnectionSlots(
    { poolSize: 1, maxWaiting: 1000, acquireTimeoutMs: 5000 },
    { where: "main", ...place },
  );
  await slots.take();
  let served = 0;
  const begin = () => inRequest(request(), () => void slots.take().then(() => served++));
  for (let count = 0; count < 30; count++) begin();
  for (let count = 0; count < 10; count++) {
    pass(1000);
    slots.release();
    begin();
  }
  await nextTurn();
  expect([served, slots.waiting]).toEqual([10, 30]);
});

test("S150 such an error has no stack, and says how long the caller has waited", async () => {
  const slots = new ConnectionSlots({ poolSize: 1, maxWaiting: 0, acquireTimeoutMs: 5000 }, { where: "main" });
  await slots.take();
  const error = await slots.take().catch((refused: unknown) => refused as RefusedError);
  expect(error).toBeInstanceOf(RefusedError);
  const { stack, refusal } = error as RefusedError;
  expect(stack?.split("\n")).toHaveLength(1);
  expect(refusal).toMatchObject({ waitedMs: 0, bindings: { connection: "main" } });
  expect(Error.stackTraceLimit).toBeGreaterThan(0);
});

test("closing waits until the last connection is returned", async () => {
  const { slots, take, since } = make(2);
  for (const name of ["a", "b", "c"]) void take(name);
  await since();
  let isUnused = false;
  const unused = slots.unused().then(() => {
    isUnused = true;
  });
  for (let left = 2; left >= 0; left--) {
    await nextTurn();
    expect(isUnused).toBe(false);
    slots.release();
  }
  await unused;
  // And then it closes at once.
  await slots.unused();
});
