import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { Mutex } from "./executor-layers.ts";

test("a synchronous task in a free mutex runs immediately, without a promise", () => {
  const mutex = new Mutex(60_000);
  expect(mutex.run(() => 7)).toBe(7);
  expect(mutex.free).toBe(true);
});

test("one at a time, in order of arrival", async () => {
  const mutex = new Mutex(1000);
  const events: string[] = [];
  await Promise.all(
    [3, 1, 2].map((ms, index) =>
      mutex.run(async () => {
        events.push(`in ${index}`);
        await sleep(ms);
        events.push(`out ${index}`);
      }),
    ),
  );
  expect(events).toEqual(["in 0", "out 0", "in 1", "out 1", "in 2", "out 2"]);
  expect(mutex.free).toBe(true);
});

test("no task can run between a finished task and a waiting one", async () => {
  const mutex = new Mutex(1000);
  const events: string[] = [];
  await mutex.acquire();
  const waiting = Promise.resolve(mutex.run(() => events.push("waiter")));
  mutex.release();
  expect(mutex.free).toBe(false);
  const late = Promise.resolve(mutex.run(() => events.push("late")));
  await Promise.all([waiting, late]);
  expect(events).toEqual(["waiter", "late"]);
});

test("after a task that throws, synchronously or later, the next one runs", async () => {
  const mutex = new Mutex(1000);
  expect(() =>
    mutex.run(() => {
      throw new Error("at once");
    }),
  ).toThrow("at once");
  await expect(mutex.run(() => Promise.reject(new Error("later")))).rejects.toThrow("later");
  expect(mutex.run(() => 1)).toBe(1);
});

test("a wait that times out is an error, and the next one gets the turn", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const mutex = new Mutex(20);
  await mutex.acquire();
  const impatient = Promise.resolve(mutex.run(() => "never"));
  const refused = expect(impatient).rejects.toMatchObject({ code: "E_OVERLOADED" });
  vi.advanceTimersByTime(20);
  await refused;
  const patient = mutex.acquire(true);
  vi.advanceTimersByTime(100_000);
  mutex.release();
  await patient;
  expect(mutex.free).toBe(false);
  mutex.release();
  expect(mutex.free).toBe(true);
});

test("a thousand waiters all get in, once each", async () => {
  const mutex = new Mutex(5000);
  let inside = 0;
  let most = 0;
  let count = 0;
  await Promise.all(
    Array.from({ length: 1000 }, () =>
      mutex.run(async () => {
        most = Math.max(most, ++inside);
        await Promise.resolve();
        inside--;
        count++;
      }),
    ),
  );
  expect([most, count, mutex.free]).toEqual([1, 1000, true]);
});

test("a timeout reports the number of other callers, and a caller whose turn has come needs no timer", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const mutex = new Mutex(20);
  await mutex.acquire();
  const waiting = ["first", "second"].map(() =>
    Promise.resolve(mutex.acquire()).catch((error: Error) => error.message),
  );
  vi.advanceTimersByTime(20);
  const told = (others: string) => expect.stringContaining(`within 20 ms: transactions are using it${others}. Keep`);
  expect(await Promise.all(waiting)).toEqual([told(", and 1 more are waiting for it"), told("")]);
  const next = mutex.acquire();
  mutex.release();
  await next;
  expect(vi.getTimerCount()).toBe(0);
});
