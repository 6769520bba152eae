import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ExpiredCounts } from "./expired-counts.ts";

const MINUTE = 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function create(prune: () => Promise<unknown>) {
  const warnings: unknown[] = [];
  const expired = new ExpiredCounts(prune, { warn: (details: unknown) => void warnings.push(details) });
  return { expired, warnings };
}

test("S133 expired counts are deleted every few minutes, even after a failure", async () => {
  let prunes = 0;
  const { expired, warnings } = create(async () => {
    if (++prunes === 1) throw new Error("The database is down.");
  });
  expired.start();
  await vi.advanceTimersByTimeAsync(2 * MINUTE - 1);
  expect(prunes).toBe(0);
  await vi.advanceTimersByTimeAsync(3 * MINUTE);
  expect([prunes, warnings]).toEqual([1, [{ err: new Error("The database is down.") }]]);
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  expect(prunes).toBeGreaterThanOrEqual(12);
  expect(warnings).toHaveLength(1);
});

test("running deletions are awaited at the end, and no new ones begin", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let prunes = 0;
  const { expired } = create(() => {
    prunes++;
    return promise;
  });
  expired.start();
  await vi.advanceTimersByTimeAsync(5 * MINUTE);
  let isStopped = false;
  const stopped = expired.stop().then(() => (isStopped = true));
  await vi.advanceTimersByTimeAsync(0);
  expect(isStopped).toBe(false);
  resolve();
  await stopped;
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  expect(prunes).toBe(1);
});
