import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { within } from "./within.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

test("finished or failed work leaves no timer that would keep the process alive", async () => {
  await within(10, Promise.resolve());
  await expect(within(10, Promise.reject(new Error("The disk is full.")))).rejects.toThrow("The disk is full.");
  expect(vi.getTimerCount()).toBe(0);
});

test("work that takes longer is rejected with a timeout error", async () => {
  const refused = expect(within(10, new Promise(() => {}))).rejects.toThrow("It took longer than 10 seconds.");
  await vi.advanceTimersByTimeAsync(10_000);
  await refused;
});
