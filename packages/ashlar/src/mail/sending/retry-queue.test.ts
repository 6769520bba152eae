import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { RetryQueue, type RetryQueueOptions } from "./retry-queue.ts";

const never = (): null => null;

function queue(options: Partial<RetryQueueOptions<number>> = {}): RetryQueue<number> {
  return new RetryQueue({ concurrency: 2, priority: () => "ordinary", run: async () => {}, again: never, ...options });
}

function pause(ms = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Fakes timeouts until the test has finished. */
function useFakeTimeouts(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Settles when the signal aborts. */
function stuck(_: number, signal: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

describe("running", () => {
  test("tasks run in order, after the current work", async () => {
    const order: (number | string)[] = [];
    const tasks = queue({ concurrency: 1, run: async (task) => void order.push(task) });
    for (const task of [1, 2, 3]) tasks.add(task);
    queueMicrotask(() => order.push("microtask"));
    process.nextTick(() => order.push("tick"));
    await tasks.settled();
    expect(order).toHaveLength(5);
    expect(order.filter((one) => typeof one === "number")).toEqual([1, 2, 3]);
    expect(order.slice(2)).toEqual([1, 2, 3]);
  });

  test("exactly the given number of tasks runs at once", async () => {
    let [now, most] = [0, 0];
    const run = async () => {
      most = Math.max(most, ++now);
      await pause(1);
      now--;
    };
    const tasks = queue({ concurrency: 3, run });
    for (let task = 0; task < 30; task++) tasks.add(task);
    expect(tasks.pending).toBe(30);
    await tasks.settled();
    expect([now, most, tasks.pending]).toEqual([0, 3, 0]);
  });

  test("an empty queue is settled at once, and waiting twice works", async () => {
    const tasks = queue();
    await tasks.settled();
    tasks.add(1);
    await Promise.all([tasks.settled(), tasks.settled()]);
    tasks.add(2);
    await tasks.settled();
    expect(tasks.pending).toBe(0);
  });
});

test("a task that started before the response it should wait for runs once", async () => {
  const runs: number[] = [];
  const tasks = queue({ run: async (task) => void runs.push(task) });
  tasks.add(1);
  const settled = tasks.settled();
  // `settled()` starts the task before its turn comes.
  tasks.add(2);
  await settled;
  await nextTurn();
  await tasks.settled();
  expect([runs, tasks.pending]).toEqual([[1, 2], 0]);
});

describe("retries", () => {
  test("a failed task is retried as often as requested, after the requested pauses", async () => {
    const tries: [task: number, attempts: number, message: string][] = [];
    const run = async (task: number) => {
      if (task === 1) throw new Error("no");
    };
    const again = (task: number, error: unknown, attempts: number) => {
      tries.push([task, attempts, (error as Error).message]);
      return attempts < 3 ? 20 : null;
    };
    const tasks = queue({ run, again });
    useFakeTimeouts();
    tasks.add(1);
    tasks.add(2);
    const seen: number[] = [];
    for (const ms of [0, 19, 1, 19, 1]) {
      await vi.advanceTimersByTimeAsync(ms);
      await nextTurn();
      seen.push(tries.length);
    }
    await tasks.settled();
    expect(seen).toEqual([1, 1, 2, 2, 3]);
    expect(tries).toEqual([
      [1, 1, "no"],
      [1, 2, "no"],
      [1, 3, "no"],
    ]);
  });

  test("a task that waits for its next attempt does not block others", async () => {
    const done: number[] = [];
    const failed = new Set<number>();
    const run = async (task: number) => {
      if (task < 5 && !failed.has(task)) {
        failed.add(task);
        throw new Error("first time");
      }
      done.push(task);
    };
    const tasks = queue({ concurrency: 1, run, again: () => 50 });
    for (let task = 0; task < 10; task++) tasks.add(task);
    await tasks.settled();
    expect(done).toEqual([5, 6, 7, 8, 9, 0, 1, 2, 3, 4]);
  });

  test("no task is lost or runs too often, whatever fails and however often", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(4), { maxLength: 20 }),
        fc.integer({ min: 1, max: 4 }),
        async (failures, concurrency) => {
          const runs = failures.map(() => 0);
          const given = new Set<number>();
          const run = async (task: number) => {
            runs[task]!++;
            if (runs[task]! <= failures[task]!) throw new Error("no");
          };
          const again = (task: number, _: unknown, attempts: number) => {
            if (attempts < 3) return 0;
            given.add(task);
            return null;
          };
          const tasks = queue({ concurrency, run, again });
          failures.forEach((_, task) => {
            tasks.add(task);
          });
          await tasks.settled();
          expect(runs).toEqual(failures.map((count) => Math.min(count + 1, 3)));
          expect([...given].sort((a, b) => a - b)).toEqual(
            failures.flatMap((count, task) => (count >= 3 ? [task] : [])),
          );
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe("draining", () => {
  test("queued tasks run first", async () => {
    const done: number[] = [];
    const tasks = queue({ run: (task) => pause(1).then(() => void done.push(task)) });
    for (let task = 0; task < 20; task++) tasks.add(task);
    expect(await tasks.drain(5)).toEqual([]);
    expect(done.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, task) => task));
  });

  test("a task that waits for another attempt runs at once", async () => {
    let runs = 0;
    const run = async () => {
      if (++runs === 1) throw new Error("no");
    };
    const tasks = queue({ run, again: () => 60_000 });
    tasks.add(1);
    await nextTurn();
    expect([runs, tasks.pending]).toEqual([1, 1]);
    expect(await tasks.drain(5)).toEqual([]);
    expect(runs).toBe(2);
  });

  test("it ends in time, abandons running tasks, and returns each remaining task once", async () => {
    let asked = 0;
    const run = (task: number, signal: AbortSignal) =>
      task === 3 ? Promise.reject(new Error("no")) : stuck(task, signal);
    const again = () => {
      asked++;
      return 60_000;
    };
    const tasks = queue({ concurrency: 3, run, again });
    for (const task of [1, 2, 3, 4, 5]) tasks.add(task);
    await nextTurn();
    useFakeTimeouts();
    let isOver = false;
    const drained = tasks.drain(0.1).finally(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(99);
    await nextTurn();
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect((await drained).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5]);
    await nextTurn();
    // Task 3 failed on its own; abandoned tasks don't count as failed and are not retried.
    expect(asked).toBe(1);
    expect(tasks.pending).toBe(0);
  });

  test("a task that failed in the meantime, and waits for another attempt, is abandoned and returned", async () => {
    useFakeTimeouts();
    const tasks = queue({ run: () => Promise.reject(new Error("no")), again: () => 60_000 });
    tasks.add(1);
    const drained = tasks.drain(0.05);
    await nextTurn();
    await vi.advanceTimersByTimeAsync(50);
    expect([await drained, tasks.pending, vi.getTimerCount()]).toEqual([[1], 0, 0]);
  });

  test("a task that was retried early does not run again when its delay ends, and no timer is left", async () => {
    useFakeTimeouts();
    let runs = 0;
    const run = async () => {
      if (++runs === 1) throw new Error("no");
    };
    const tasks = queue({ run, again: () => 60_000 });
    tasks.add(1);
    await nextTurn();
    expect(vi.getTimerCount()).toBe(1);
    expect(await tasks.drain(5)).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([runs, tasks.pending]).toEqual([2, 0]);
  });

  test("an empty queue is drained at once", async () => {
    // No time passes.
    useFakeTimeouts();
    expect(await queue().drain(10)).toEqual([]);
  });
});
