import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import { onTestFinished, vi } from "vitest";

/**
 * Until the test ends, time only passes in sleeps (`setTimeout` from `node:timers/promises`), which take no real time.
 *
 * @param passing returns how much time passes in a sleep of the given length
 * @returns the length of each sleep
 */
export function sleeps(passing: (ms: number) => number | Promise<number> = (ms) => ms): number[] {
  const slept: number[] = [];
  let now = 1000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  const sleep = vi.spyOn(timers, "setTimeout").mockImplementation((async (ms: number) => {
    slept.push(ms);
    now += await passing(ms);
  }) as typeof timers.setTimeout);
  syncBuiltinESMExports();
  onTestFinished(() => {
    clock.mockRestore();
    sleep.mockRestore();
    syncBuiltinESMExports();
  });
  return slept;
}
