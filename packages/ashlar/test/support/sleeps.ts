import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import { onTestFinished, vi } from "vitest";

/**
 * Until the test ends, makes time pass only by sleeping (`setTimeout` of `node:timers/promises`), which takes no real
 * time.
 *
 * @param passing how much time passes in a sleep of this length that has begun
 * @returns how long each sleep was supposed to be
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
