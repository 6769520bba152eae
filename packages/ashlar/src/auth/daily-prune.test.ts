import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ADA, BOB, type TestAccounts, testAccounts } from "../../test/support/account-application.ts";
import { kernelWith } from "../../test/support/application-parts.ts";
import { onEachDatabase, sqlite } from "../../test/support/services.ts";
import { createApplication, Provider } from "../boot/index.ts";
import { setClock } from "../support/index.ts";
import { AuthProvider } from "./auth-provider.ts";
import { DailyPrune } from "./daily-prune.ts";
import { TaskClaim } from "./task-claim.ts";

const NOON = Date.parse("2026-03-01T12:00:00.000Z");
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

const QUIET = { app: { APP: { log: { level: "silent" } } } };
const SERVED = { APP_ENV: "development", APP_KEY: "k3Vw9qLz7Rt2Xn8Bc5Mf1Hd6Js4Pg0YaQeTuIoWi" };

afterEach(() => setClock(null));

/** The daily pruning in one process of an application, with a count. */
class Process {
  readonly daily: DailyPrune;
  prunes = 0;
  errors: string[] = [];
  deleted: unknown[] = [];
  /** Further work during a prune. */
  also: (signal: AbortSignal) => unknown = () => {};

  constructor({ application, database }: TestAccounts) {
    this.daily = new DailyPrune({
      claim: new TaskClaim(database, "prune"),
      prune: async (signal) => {
        this.prunes++;
        await this.also(signal);
        return application.prune(signal);
      },
      logger: {
        info: (details: object) => this.deleted.push(details),
        error: ({ err }: { err: Error }) => this.errors.push(err.message),
      } as never,
    });
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
    // Each is one line in the log of the process that did it.
    const deleted = [...one.deleted, ...two.deleted];
    expect(deleted).toEqual(Array(3).fill({ deleted: expect.objectContaining({ logins: 0 }) }));
  });

  test("if a process crashes while it prunes, another takes over after an hour", async () => {
    const [, two, accounts] = await twoProcesses();
    setClock(() => NOON);
    expect(await new TaskClaim(accounts.database, "prune").take()).not.toBeNull();
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

  test("a process that shuts down stops after a batch, and leaves the rest to another, immediately", async () => {
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

  test("a failure when the task is finished is logged too", async () => {
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
    const parts = { claim: nothingToDo, prune: async () => ({}), logger: {} as never };
    return Array.from({ length: count }, () => new DailyPrune(parts));
  };

  /** The delays of the timers since the last call, in minutes and in order, each once. */
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

  test("is set by one timer, which is gone once it has stopped, even during a check", async () => {
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

  test("keeps no process alive", async () => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timers.mockRestore());
    const [daily] = processes(1) as [DailyPrune];
    daily.start();
    expect(timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([false]);
    await daily.stop();
  });
});

describe("a server", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
  });

  /** An application with an orphaned session, and the statements about the daily task. */
  async function withOrphan(options: object): Promise<[TestAccounts, string[], Promise<void>]> {
    const accounts = await testAccounts({ engine: sqlite, environment: SERVED, config: QUIET, ...options });
    const statements: string[] = [];
    const done = Promise.withResolvers<void>();
    await accounts.loggedIn(BOB);
    await accounts.loggedIn(ADA);
    await accounts.User.where("id", ADA.id).delete();
    accounts.database.onQuery(({ sql }) => {
      if (sql.includes("maintenance")) statements.push(sql.split(" ")[0]!);
      if (sql.startsWith("update") && sql.includes("maintenance")) done.resolve();
    });
    return [accounts, statements, done.promise];
  }
  const users = async (accounts: TestAccounts): Promise<unknown[]> => {
    return (await accounts.rows("logins")).map((row) => row.user_id);
  };

  test("prunes within a quarter of an hour after it has started to listen", async () => {
    const [accounts, statements, done] = await withOrphan({});
    await accounts.application.listen({ port: 0, handleSignals: false });
    expect([vi.getTimerCount(), await users(accounts)]).toEqual([1, [BOB.id, ADA.id]]);
    await vi.advanceTimersByTimeAsync(15 * MINUTE);
    await done;
    expect(await users(accounts)).toEqual([BOB.id]);
    expect(statements).toEqual(["insert", "update"]);
    // The processes of an application share this name, in all its versions.
    expect(await accounts.rows("maintenance")).toMatchObject([{ task: "prune" }]);
  });

  test("without logins has nothing to prune, and needs no database", async () => {
    const application = await createApplication({
      kernel: kernelWith({ web: [] }),
      routes: [],
      providers: [AuthProvider],
      config: QUIET,
      environment: SERVED,
    });
    onTestFinished(() => application.shutdown());
    await application.listen({ port: 0, handleSignals: false });
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    ["by ACCOUNTS.retention.prune: false", { ACCOUNTS: { retention: { prune: false } } }],
    ["in tests", { environment: { APP_ENV: "test" } }],
  ])("does not prune if this is turned off, %s", async (_, options) => {
    const [accounts, statements] = await withOrphan(options);
    await accounts.application.listen({ port: 0, handleSignals: false });
    await vi.advanceTimersByTimeAsync(2 * DAY);
    expect([statements, await users(accounts)]).toEqual([[], [BOB.id, ADA.id]]);
    // The command still does.
    expect(await accounts.application.prune()).toMatchObject({ logins: 1 });
  });

  test("does not prune if an application does not listen, as in a command", async () => {
    const [accounts, statements] = await withOrphan({});
    await vi.advanceTimersByTimeAsync(2 * DAY);
    expect([statements, await users(accounts)]).toEqual([[], [BOB.id, ADA.id]]);
  });

  test("waits for a running prune when it shuts down", async () => {
    const [accounts, statements, done] = await withOrphan({});
    await accounts.application.listen({ port: 0, handleSignals: false });
    const begun = Promise.withResolvers<void>();
    accounts.database.onQuery(({ sql }) => {
      if (sql.startsWith("insert") && sql.includes("maintenance")) begun.resolve();
    });
    await vi.advanceTimersByTimeAsync(15 * MINUTE);
    await begun.promise;
    await accounts.application.shutdown();
    await done;
    expect(statements).toEqual(["insert", "update"]);
  });

  test("stops a running prune when it shuts down, before the providers that it prunes are shut down", async () => {
    const begun = Promise.withResolvers<void>();
    const order: string[] = [];
    class StockProvider extends Provider {
      override async prune(signal?: AbortSignal): Promise<Record<string, number>> {
        begun.resolve();
        await once(signal!, "abort");
        for (let turn = 0; turn < 20; turn++) await setImmediate();
        order.push("pruned");
        return {};
      }

      override async shutdown(): Promise<void> {
        order.push("shut down");
      }
    }
    // Listed last, so that it is shut down first.
    class LaterAuthProvider extends AuthProvider {}
    const { application } = await testAccounts({
      environment: SERVED,
      config: QUIET,
      without: [AuthProvider],
      providers: [StockProvider, LaterAuthProvider],
    });
    await application.listen({ port: 0, handleSignals: false });
    await vi.advanceTimersByTimeAsync(15 * MINUTE);
    await begun.promise;
    await application.shutdown();
    expect(order).toEqual(["pruned", "shut down"]);
  });
});
