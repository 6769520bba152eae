import { performance } from "node:perf_hooks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LoopDelay } from "./loop-delay.ts";

let time = 0;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  vi.spyOn(performance, "now").mockImplementation(() => time);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Lets a turn of the event loop take some time, and ends it: the timer, which is due, runs. */
function turn(ms: number, intervalMs: number): void {
  time += ms;
  vi.advanceTimersByTime(intervalMs);
}

/** How many of some requests are accepted. */
function accepted(delay: LoopDelay, requests: number): number {
  return Array.from({ length: requests }, () => delay.accepts()).filter(Boolean).length;
}

test.each([
  [1, 1],
  [21, 5],
  [500, 100],
  [60_000, 100],
])("a limit of %d ms is looked at every %d ms", (maxMs, intervalMs) => {
  const delay = new LoopDelay(maxMs);
  time += 1000;
  expect(delay.currentMs).toBe(1000 - intervalMs);
  vi.advanceTimersByTime(intervalMs - 1);
  expect(delay.currentMs).toBe(1000 - intervalMs);
  vi.advanceTimersByTime(1);
  expect(delay.currentMs).toBe(-intervalMs);
});

test("a turn that takes too long accepts sixteen requests, and the one after it none, until it is over", () => {
  const delay = new LoopDelay(1000);
  time += 1101;
  expect(accepted(delay, 40)).toBe(16);
  turn(0, 100);
  // On time so far.
  expect(accepted(delay, 3)).toBe(3);
  time += 1101;
  expect(accepted(delay, 40)).toBe(0);
});

test("what earlier turns have accepted doesn't count", () => {
  const delay = new LoopDelay(1000);
  expect(accepted(delay, 40)).toBe(40);
  turn(100, 100);
  time += 1101;
  expect(accepted(delay, 40)).toBe(16);
});

test("a turn that is as late as it may be refuses nothing, and neither does one after it", () => {
  const delay = new LoopDelay(1000);
  time += 1100;
  expect(accepted(delay, 40)).toBe(40);
  turn(0, 100);
  time += 1101;
  expect(accepted(delay, 40)).toBe(16);
});

test("one turn that is on time is enough to accept as before", () => {
  const delay = new LoopDelay(1000);
  turn(1101, 100);
  turn(100, 100);
  time += 1101;
  expect(accepted(delay, 40)).toBe(16);
});

test("its timer does not keep the process alive, and ends with it", () => {
  const started = vi.spyOn(globalThis, "setInterval");
  const delay = new LoopDelay(1000);
  expect(started.mock.results[0]!.value.hasRef()).toBe(false);
  delay.stop();
  expect(vi.getTimerCount()).toBe(0);
});
