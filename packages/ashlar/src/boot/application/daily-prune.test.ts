import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type TestAccounts, testAccounts } from "../../../test/support/account-application.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import { DatabaseTaskClaim } from "../../database/migrations/task-claim.ts";
import { setClock } from "../../support/index.ts";
import type { TaskClaim } from "../process/task-claim.ts";
import { DailyPrune } from "./daily-prune.ts";

const NOON = Date.parse("2026-03-01T12:00:00.000Z");
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

afterEach(() => setClock(null));

/** One process's daily pruning, with a counter. */
class Process {
  readonly daily: DailyPrune;
  prunes = 0;
  errors: string[] = [];
  deleted: unknown[] = [];
  /** Additional work during a prune. */
  also: (signal: AbortSignal) => unknown = () => {};

  constructor({ application, database }: TestAccounts) {
    this.daily = new DailyPrune({
      prune: async (signal) => {
        this.prunes++;
        await this.also(signal);
        return { batches: 1, ...(await application.prune(signal)) };
      },
      logger: {
        info: (details: object) => this.deleted.push(details),
        error: ({ err }: { err: Error }) => this.errors.push(err.message),
      } as never,
    });
    this.daily.claim = new DatabaseTaskClaim(database, "prune");
  }
}

await onEachDatabase("pruning once a day", (engine) => {
  async function twoProcesses(): Promise<[Process, Process, TestAccounts]> {
    const accounts = await testAccounts({ engine });
    const other = await testAccounts({ engine, restarted: accounts });
    return [new Process(accounts), new Process(other), accounts];
  }

  test("S71 if two processes check at the same time, again and again, one of them prunes each day", async () => {
    const [one, two] = await twoProcesses();
    const look = (): Promise<unknown> => {
      return Promise.all(Array.from({ length: 10 }, () => [one.daily.look(), two.daily.look()]).flat());
    };
    const prunesAt = async (time: number): Promise<number> => {
      setClock(() => time);
      await look();
      return one.prunes + two.prunes;
    };
    expect(await prunesAt(NOON)).toBe(1);
    expect(await prunesAt(NOON + HOUR)).toBe(1);
    expect(await prunesAt(NOON + DAY - 1)).toBe(1);
    expect(await prunesAt(NOON + DAY)).toBe(2);
    expect(await prunesAt(NOON + 3 * DAY)).toBe(3);
    expect([...one.errors, ...two.errors]).toEqual([]);
    // Each prune is one line in the log of the process that ran it.
    const deleted = [...one.deleted, ...two.deleted];
    expect(deleted).toEqual(Array(3).fill({ deleted: expect.objectContaining({ logins: 0 }) }));
  });

  test("each process knows when it last pruned without a failure, and one that shut down halfway didn't", async () => {
    const [one, two] = await twoProcesses();
    setClock(() => NOON);
    await one.daily.look();
    await two.daily.look();
    expect([one.daily.succeededAt, two.daily.succeededAt]).toEqual([NOON, null]);
    setClock(() => NOON + DAY);
    one.also = () => {
      throw new Error("The disk is full.");
    };
    await one.daily.look();
    expect(one.daily.succeededAt).toBe(NOON);
    setClock(() => NOON + DAY + HOUR);
    two.also = () => void two.daily.stop();
    await two.daily.look();
    expect([two.prunes, two.daily.succeededAt]).toEqual([1, null]);
  });

  test("if a process crashes while it prunes, another takes over after an hour", async () => {
    const [, two, accounts] = await twoProcesses();
    setClock(() => NOON);
    expect(await new DatabaseTaskClaim(accounts.database, "prune").take()).not.toBeNull();
    setClock(() => NOON + HOUR - 1);
    await two.daily.look();
    expect(two.prunes).toBe(0);
    setClock(() => NOON + HOUR);
    await two.daily.look();
    expect(two.prunes).toBe(1);
  });

  test("a failure is logged, and retried after an hour", async () => {
    const [one, two] = await twoProcesses();
    setClock(() => NOON);
    one.also = () => {
      throw new Error("The disk is full.");
    };
    await one.daily.look();
    await two.daily.look();
    expect([one.errors, two.prunes]).toEqual([["The disk is full."], 0]);
    setClock(() => NOON + HOUR);
    await two.daily.look();
    expect(two.prunes).toBe(1);
  });

  test("a process that shuts down stops after a batch, and another process takes over immediately", async () => {
    const [one, two] = await twoProcesses();
    setClock(() => NOON);
    let stopped: Promise<void> | null = null;
    one.also = (signal) => {
      stopped = one.daily.stop();
      expect(signal.aborted).toBe(true);
    };
    await one.daily.look();
    await stopped;
    await one.daily.look();
    await two.daily.look();
    expect([one.prunes, two.prunes]).toEqual([1, 1]);
    setClock(() => NOON + HOUR);
    await two.daily.look();
    expect(two.prunes).toBe(1);
  });

  test("a process that shuts down waits for the batch that is being deleted", async () => {
    const [one] = await twoProcesses();
    const [begun, batch] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    one.also = () => {
      begun.resolve();
      return batch.promise;
    };
    const looked = one.daily.look();
    await begun.promise;
    const stopped = one.daily.stop().then(() => one.deleted.length);
    await setImmediate();
    batch.resolve();
    expect(await stopped).toBe(1);
    await looked;
  });

  test("a failure to mark the task as finished is logged too", async () => {
    const [one, , accounts] = await twoProcesses();
    one.also = () => accounts.database.kysely.schema.dropTable("maintenance").execute();
    await one.daily.look();
    expect([one.deleted.length, one.errors.length]).toEqual([1, 1]);
  });

  test("without the table, each process prunes once a day", async () => {
    const [one, two, accounts] = await twoProcesses();
    await accounts.database.kysely.schema.dropTable("maintenance").execute();
    for (const time of [NOON, NOON + HOUR, NOON + DAY]) {
      setClock(() => time);
      await Promise.all([one.daily.look(), two.daily.look()]);
    }
    expect([one.prunes, two.prunes]).toEqual([2, 2]);
  });
});

describe("the time at which a process checks", () => {
  const nothingToDo = { take: async () => null } as unknown as TaskClaim;
  const processes = (count: number): DailyPrune[] => {
    const parts = { prune: async () => ({}), logger: {} as never };
    return Array.from({ length: count }, () => Object.assign(new DailyPrune(parts), { claim: nothingToDo }));
  };

  /** The timers' delays since the last call, in minutes and in order, without duplicates. */
  function useTimers(): () => number[] {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const timers = vi.spyOn(globalThis, "setTimeout");
    return () => {
      const delays = timers.mock.calls.splice(0).map(([, delay]) => delay! / MINUTE);
      return [...new Set(delays)].toSorted((a, b) => a - b);
    };
  }

  test("differs: 1 to 14 minutes after the start, and 45 to 74 minutes after each check", async () => {
    const delays = useTimers();
    const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
    for (const daily of processes(2000)) daily.start();
    expect(delays()).toEqual(range(1, 14));
    await vi.advanceTimersByTimeAsync(14 * MINUTE);
    expect(delays()).toEqual(range(45, 74));
    await vi.advanceTimersByTimeAsync(60 * MINUTE);
    expect(delays()).toEqual(range(45, 74));
  });

  test("is set by one timer, which is cleared by stop, even during a check", async () => {
    useTimers();
    const [waiting, looking] = processes(2) as [DailyPrune, DailyPrune];
    for (const daily of [waiting, waiting, looking]) daily.start();
    expect(vi.getTimerCount()).toBe(2);
    await waiting.stop();
    expect(vi.getTimerCount()).toBe(1);
    const take = vi.spyOn(nothingToDo, "take").mockImplementationOnce(async () => {
      void looking.stop();
      return null;
    });
    onTestFinished(() => take.mockRestore());
    await vi.advanceTimersByTimeAsync(14 * MINUTE);
    expect([take.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
  });

  test("is counted from the end of the previous check", async () => {
    useTimers();
    const [daily] = processes(1) as [DailyPrune];
    const claimed = Promise.withResolvers<null>();
    const take = vi.spyOn(nothingToDo, "take").mockImplementationOnce(() => claimed.promise);
    onTestFinished(() => take.mockRestore());
    daily.start();
    await vi.advanceTimersByTimeAsync(14 * MINUTE);
    expect([take.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
    claimed.resolve(null);
    await daily.look();
    expect(vi.getTimerCount()).toBe(1);
    await daily.stop();
  });

  test("does not keep the process alive", async () => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timers.mockRestore());
    const [daily] = processes(1) as [DailyPrune];
    daily.start();
    expect(timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([false]);
    await daily.stop();
  });
});
