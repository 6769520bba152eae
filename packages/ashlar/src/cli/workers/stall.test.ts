import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { STALL_MS, Stall } from "./stall.ts";

describe("with the time of a test", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("an await that never ends is noticed once", () => {
    const noticed = vi.fn();
    const stall = new Stall(STALL_MS, noticed);
    stall.waits();
    vi.advanceTimersByTime(14_999);
    stall.waits();
    expect(noticed).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(noticed).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("the time starts over with each arrival, and ends with the last", () => {
    const noticed = vi.fn();
    const stall = new Stall(STALL_MS, noticed);
    stall.waits();
    for (let count = 0; count < 5; count++) {
      vi.advanceTimersByTime(14_000);
      stall.goesOn();
    }
    stall.end();
    expect(vi.getTimerCount()).toBe(0);
    stall.waits();
    vi.advanceTimersByTime(14_999);
    stall.end();
    vi.advanceTimersByTime(STALL_MS);
    expect(noticed).not.toHaveBeenCalled();
  });
});

test("time in which this process itself does not run is not held against a worker", async () => {
  const noticed = vi.fn();
  const stall = new Stall(150, noticed);
  stall.waits();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
  await nextTurn();
  await nextTurn();
  expect(noticed).not.toHaveBeenCalled();
  stall.end();
});
