import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeEach, expect, test, vi } from "vitest";
import { ConnectionSlots } from "./connection-slots.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  return () => void vi.useRealTimers();
});

function make(poolSize: number, maxWaiting = 10) {
  const slots = new ConnectionSlots({ poolSize, maxWaiting, acquireTimeoutMs: 5000 });
  const events: string[] = [];
  const take = async (name: string): Promise<void> => {
    await slots.take().then(
      () => events.push(name),
      ({ code, message }) => events.push(`${name}: ${code} ${message}`),
    );
  };
  /** What has happened since the last call. */
  const since = async (): Promise<string[]> => {
    await nextTurn();
    return events.splice(0);
  };
  return { slots, take, since };
}

const LATE = "E_OVERLOADED No connection to the database was free within 5000 ms.";

test("so many callers have a connection at once, and each that is returned goes to the one who has waited longest", async () => {
  const { slots, take, since } = make(2);
  for (const name of ["a", "b", "c", "d", "e"]) void take(name);
  expect([await since(), slots.waiting]).toEqual([["a", "b"], 3]);
  slots.release();
  // Who comes in between waits behind the others.
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

test("beyond the longest line, a caller is refused at once", async () => {
  const { slots, take, since } = make(1, 2);
  for (const name of ["a", "b", "c", "d"]) void take(name);
  const full = "E_OVERLOADED All connections to the database are in use, and 2 callers are waiting for one.";
  expect(await since()).toEqual(["a", `d: ${full}`]);
  slots.release();
  void take("e");
  expect([await since(), slots.waiting]).toEqual([["b"], 2]);
});

test("a caller waits only so long, and leaves its place to the next", async () => {
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
  // And then at once.
  await slots.unused();
});
