import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { limited, TooSlowError } from "./limited.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a task that takes too long is abandoned, and the error names it", async () => {
  const waiting = limited(5, "The database", () => new Promise(() => {}));
  const outcome = expect(waiting).rejects.toThrow(new TooSlowError("The database took longer than 5 seconds."));
  await vi.advanceTimersByTimeAsync(5000);
  await outcome;
});

test("a result in time is returned, an error is thrown, and no timer is left", async () => {
  expect(await limited(5, "It", () => 7)).toBe(7);
  await expect(limited(5, "It", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  await expect(
    limited(5, "It", () => {
      throw new Error("at once");
    }),
  ).rejects.toThrow("at once");
  expect(vi.getTimerCount()).toBe(0);
});
