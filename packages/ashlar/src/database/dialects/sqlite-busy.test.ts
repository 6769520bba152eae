import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { isBusy, retryWhileBusy } from "./sqlite-busy.ts";

const BUSY = Object.assign(new Error("database is locked"), { errcode: 5 });

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

/** Has time pass by sleeping only, and gives how long each sleep is. */
function sleeps(chance: number): number[] {
  const slept: number[] = [];
  let now = 1000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  vi.spyOn(Math, "random").mockReturnValue(chance);
  vi.spyOn(timers, "setTimeout").mockImplementation((async (ms: number) => {
    slept.push(ms);
    now += ms;
  }) as typeof timers.setTimeout);
  syncBuiltinESMExports();
  return slept;
}

test.each([
  [0, 20, [0.5, 1, 2, 2.5, 2.5, 2.5, 2.5, 2.5, 4]],
  [0.5, 20, [0.75, 1.5, 3, 3.75, 3.75, 3.75, 3.5]],
  [0, 1, [1]],
  [0, 0, [0]],
  [0, -1, [0]],
])(
  "waits a little longer each time, by chance %s, and for the last time until %s ms are over",
  async (chance, ms, waits) => {
    const slept = sleeps(chance);
    const attempt = vi.fn(() => {
      throw BUSY;
    });
    await expect(retryWhileBusy(attempt, ms)).rejects.toBe(BUSY);
    expect(slept).toEqual(waits);
    expect(attempt).toHaveBeenCalledTimes(waits.length);
  },
);

test("an attempt that succeeds, or fails for another reason, is the last", async () => {
  const slept = sleeps(0);
  const results: (() => string)[] = [
    () => {
      throw BUSY;
    },
    () => "done",
    () => {
      throw new Error("no such table");
    },
  ];
  const attempt = () => results.shift()!();
  expect(await retryWhileBusy(attempt, 1000)).toBe("done");
  expect(slept).toEqual([0.5, 1]);
  await expect(retryWhileBusy(attempt, 1000)).rejects.toThrow("no such table");
  expect(results).toEqual([]);
});

test.each([
  [5, true],
  [261, true],
  [517, false],
  [6, false],
  [undefined, false],
])("the result code %s means that the file is free in a moment: %s", (errcode, expected) => {
  expect(isBusy(Object.assign(new Error(), { errcode }))).toBe(expected);
});
