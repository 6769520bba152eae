import { afterEach, expect, test, vi } from "vitest";
import { sleeps } from "../../../test/support/sleeps.ts";
import { isBusy, retryWhileBusy } from "./sqlite-busy.ts";

const BUSY = Object.assign(new Error("database is locked"), { errcode: 5 });

afterEach(() => void vi.restoreAllMocks());

/** Makes random numbers the same each time. */
function chanceIs(chance: number): void {
  vi.spyOn(Math, "random").mockReturnValue(chance);
}

test.each([
  [0, 20, [0.5, 1, 2, 2.5, 2.5, 2.5, 2.5, 2.5, 4]],
  [0.5, 20, [0.75, 1.5, 3, 3.75, 3.75, 3.75, 3.5]],
  [0, 1, [1]],
  [0, 0, [0]],
  [0, -1, [0]],
])(
  "waits a little longer each time, with random %s, and the last wait ends after %s ms in total",
  async (chance, ms, waits) => {
    chanceIs(chance);
    const slept = sleeps();
    const attempt = vi.fn(() => {
      throw BUSY;
    });
    await expect(retryWhileBusy(attempt, ms)).rejects.toBe(BUSY);
    expect(slept).toEqual(waits);
    expect(attempt).toHaveBeenCalledTimes(waits.length);
  },
);

test("an attempt that succeeds, or fails for another reason, is the last", async () => {
  chanceIs(0);
  const slept = sleeps();
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
])("the result code %s means that the file will be free in a moment: %s", (errcode, expected) => {
  expect(isBusy(Object.assign(new Error(), { errcode }))).toBe(expected);
});
