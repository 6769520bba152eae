import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { exclusively } from "./exclusively.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

type Request = (name: string, options: { readonly signal: AbortSignal }, work: () => Promise<unknown>) => unknown;

/** Installs Web Locks that the test controls, and returns the requested names. */
function stubLocks(request: Request): string[] {
  const names: string[] = [];
  vi.stubGlobal("navigator", {
    locks: {
      request: async (...args: Parameters<Request>) => {
        names.push(args[0]);
        return await request(...args);
      },
    },
  });
  return names;
}

/** Work that counts how often it starts, and ends when the test decides. */
function counted() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const work = vi.fn(() => promise);
  return { work, resolve, reject };
}

test.each([{}, undefined])("without Web Locks, the work runs at once: %j", async (navigator) => {
  vi.stubGlobal("navigator", navigator);
  const { work, resolve } = counted();
  resolve("done");
  expect(await exclusively("tokens", work)).toBe("done");
  expect([work.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
});

test("work whose turn has come may take any time, and leaves no timer behind", async () => {
  const signals: AbortSignal[] = [];
  const names = stubLocks((_, { signal }, work) => {
    signals.push(signal);
    return work();
  });
  const { work, resolve } = counted();
  const done = exclusively("tokens", work);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([signals[0]!.aborted, vi.getTimerCount()]).toEqual([false, 0]);
  resolve("done");
  expect(await done).toBe("done");
  expect([names, work.mock.calls.length]).toEqual([["tokens"], 1]);
});

test("a failure of the work is thrown, and it isn't started again", async () => {
  stubLocks((_, __, work) => work());
  const { work, reject } = counted();
  reject(new Error("no"));
  await expect(exclusively("tokens", work)).rejects.toThrow("no");
  expect([work.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
});

test("a hanging tab is waited for up to twenty seconds", async () => {
  stubLocks(
    (_, { signal }) => new Promise((__, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );
  const { work, resolve } = counted();
  resolve("done");
  const done = exclusively("tokens", work);
  await vi.advanceTimersByTimeAsync(19_999);
  expect(work).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(await done).toBe("done");
  expect([work.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
});

test("if Web Locks are refused, the work runs at once, and no timer is left behind", async () => {
  stubLocks(() => Promise.reject(new DOMException("", "SecurityError")));
  const { work, resolve } = counted();
  resolve("done");
  expect(await exclusively("tokens", work)).toBe("done");
  expect([work.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
});
