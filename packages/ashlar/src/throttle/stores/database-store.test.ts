import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { outputOf } from "../../../test/support/own-process.ts";
import { onEachDatabase, type TestDatabase, type TestEngine } from "../../../test/support/services.ts";
import { type Database, sql } from "../../database/index.ts";
import { now, setClock } from "../../support/index.ts";
import { freeze, throttleStoreSuite, travel, travelBack } from "../../testing/index.ts";
import type { Bucket } from "../limits/limit.ts";
import { DatabaseStore } from "./database-store.ts";
import { createRateLimitsTable } from "./rate-limits-table.ts";

const LOGIN: Bucket = { name: "login", by: ["address"], attempts: 5, windowSeconds: 60 };

afterEach(() => {
  vi.useRealTimers();
  travelBack();
});

async function opened(engine: TestEngine): Promise<TestDatabase> {
  const own = await engine.open({}, { name: "rate-limits", fill: ({ kysely }) => createRateLimitsTable(kysely) });
  onTestFinished(() => own.drop());
  return own;
}

await onEachDatabase("limits in the database", (engine) => {
  const store = async () => {
    const { database } = await opened(engine);
    return new DatabaseStore(() => database.connection());
  };

  describe("keep the promises of a store", () => {
    for (const { title, run } of throttleStoreSuite(store)) test(title, run);
  });

  test("S33 four processes count together: of a hundred attempts, no two are the same", async () => {
    const { configuration } = await opened(engine);
    // Long enough for every attempt, even on a slow machine.
    const patient = { acquireTimeoutMs: 600_000, ...(engine.name === "sqlite" && { busyTimeoutMs: 600_000 }) };
    const modules = ["../../database/index.ts", "./database-store.ts"].map((path) =>
      JSON.stringify(new URL(path, import.meta.url).href),
    );
    const program = `
      import { Database } from ${modules[0]};
      import { DatabaseStore } from ${modules[1]};
      const database = new Database({ default: "main", main: ${JSON.stringify({ ...configuration, ...patient })} }, ".");
      const counter = new DatabaseStore(() => database.connection()).counter(${JSON.stringify(LOGIN)});
      const counts = await Promise.all(Array.from({ length: 25 }, () => counter.add("203.0.113.7", 1)));
      await database.close();
      console.log(JSON.stringify(counts.map(({ attempts }) => attempts)));`;
    const outputs = await Promise.all(Array.from({ length: 4 }, () => outputOf(program)));
    const counts = outputs.flatMap((output) => JSON.parse(output) as number[]).sort((a, b) => a - b);
    expect(counts).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  });

  test("S33 after a restart, the count continues", async () => {
    const { database } = await opened(engine);
    const first = new DatabaseStore(() => database.connection());
    await first.counter(LOGIN).add("a", 4);
    first.close();
    const counter = new DatabaseStore(() => database.connection()).counter(LOGIN);
    expect((await counter.add("a", 1)).attempts).toBe(5);
  });

  test("S33 an attempt counts even if the transaction around it is rolled back", async () => {
    const { database } = await opened(engine);
    const counter = new DatabaseStore(() => database.connection()).counter(LOGIN);
    await counter.add("a", 2);
    const seen: number[] = [];
    const failing = database.transaction(async () => {
      for (let attempt = 0; attempt < 2; attempt++) seen.push((await counter.add("a", 1)).attempts);
      throw new Error("A wrong password.");
    });
    await expect(failing).rejects.toThrow("A wrong password.");
    seen.push((await counter.get("a"))!.attempts, (await counter.add("a", 1)).attempts);
    expect(seen).toEqual([3, 4, 4, 5]);
    await counter.takeBack("a", 1);
    expect((await counter.get("a"))!.attempts).toBe(4);
    await counter.delete("a");
    expect(await counter.get("a")).toBeNull();
  });

  test("S33 the first attempt for a key also counts if its transaction is rolled back", async () => {
    const { database } = await opened(engine);
    const counter = new DatabaseStore(() => database.connection()).counter(LOGIN);
    const failing = database.transaction(async () => {
      await counter.add("a", 1);
      throw new Error("A wrong password.");
    });
    await expect(failing).rejects.toThrow("A wrong password.");
    expect((await counter.get("a"))?.attempts).toBe(1);
  });

  test("an attempt that cannot be given back, or a count that cannot be deleted, is an error", async () => {
    const { database } = await opened(engine);
    const counter = new DatabaseStore(() => database.connection()).counter(LOGIN);
    await counter.add("a", 1);
    await database.kysely.schema.dropTable("rate_limits").execute();
    await expect(counter.takeBack("a", 1)).rejects.toThrow("rate_limits");
    await expect(counter.delete("a")).rejects.toThrow("rate_limits");
  });

  test("attempts counted in a committed transaction count once", async () => {
    const { database } = await opened(engine);
    const counter = new DatabaseStore(() => database.connection()).counter(LOGIN);
    await database.transaction(() => counter.add("a", 2));
    expect((await counter.add("a", 1)).attempts).toBe(3);
    const other = new DatabaseStore(() => database.connection()).counter(LOGIN);
    expect((await other.add("a", 1)).attempts).toBe(4);
  });

  if (engine.name !== "sqlite") {
    test("S33 an attempt in a transaction counts for other processes at once, and if it is rolled back", async () => {
      const { database } = await opened(engine);
      const [counter, other] = [1, 2].map(() => new DatabaseStore(() => database.connection()).counter(LOGIN));
      const failing = database.transaction(async () => {
        await counter!.add("a", 2);
        expect((await other!.add("a", 1)).attempts).toBe(3);
        throw new Error("A wrong password.");
      });
      await expect(failing).rejects.toThrow("A wrong password.");
      expect((await other!.get("a"))!.attempts).toBe(3);
    });

    test("limits are counted while every connection of the pool is in use", async () => {
      const { database } = await opened(engine);
      const { limit } = database.usage().main!;
      const counter = new DatabaseStore(() => database.connection()).counter(LOGIN);
      const { promise: counted, resolve: end } = Promise.withResolvers<void>();
      const all = Array.from({ length: limit }, () => database.transaction(() => counted));
      await expect.poll(() => database.usage().main!.used).toBe(limit);
      const attempts = await Promise.all(Array.from({ length: 20 }, () => counter.add("a", 1)));
      expect(Math.max(...attempts.map((one) => one.attempts))).toBe(20);
      expect(database.usage()["main:limits"]).toMatchObject({ limit: 3 });
      end();
      await Promise.all(all);
    });
  }

  test("the number of connections for limits can be chosen, and none is shared with the others", async () => {
    const { database } = await opened(engine);
    await sharing(database).counter(LOGIN).add("a", 1);
    expect(Object.keys(database.usage())).toEqual(["main"]);
    await new DatabaseStore(() => database.connection(), 2).counter(LOGIN).add("a", 1);
    const { "main:limits": own = null } = database.usage();
    expect(own?.limit ?? null).toBe(engine.name === "sqlite" ? null : 2);
  });

  test("S33 of this process's count and the shared count, the higher one applies", async () => {
    const { database } = await opened(engine);
    const [counter, other] = [1, 2].map(() => sharing(database).counter(LOGIN));
    const failing = database.transaction(async () => {
      await counter!.add("a", 2);
      throw new Error("A wrong password.");
    });
    await expect(failing).rejects.toThrow("A wrong password.");
    await other!.add("a", 1);
    expect([(await counter!.get("a"))!.attempts, (await counter!.add("a", 1)).attempts]).toEqual([2, 3]);
    await other!.add("a", 5);
    expect([(await counter!.get("a"))!.attempts, (await counter!.add("a", 1)).attempts]).toEqual([7, 8]);
    expect((await counter!.add("a", 2)).attempts).toBe(10);
  });

  test("attempts counted outside of transactions are kept only in the table", async () => {
    const { database } = await opened(engine);
    const [counter, other] = [1, 2].map(() => new DatabaseStore(() => database.connection()).counter(LOGIN));
    await counter!.add("a", 3);
    await other!.delete("a");
    expect([await counter!.get("a"), (await counter!.add("a", 1)).attempts]).toEqual([null, 1]);
  });

  test("closing discards the attempts kept for transactions", async () => {
    const { database } = await opened(engine);
    const store = sharing(database);
    const counter = store.counter(LOGIN);
    const failing = database.transaction(async () => {
      await counter.add("a", 2);
      throw new Error("A wrong password.");
    });
    await expect(failing).rejects.toThrow("A wrong password.");
    store.close();
    expect(await counter.get("a")).toBeNull();
  });

  // PostgreSQL's clock continues while the framework's is stopped.
  const LEEWAY_MS = engine.name === "sqlite" ? 0 : 10_000;

  test.each([
    ["has just ended", 0, null],
    ["is about to end", 1 + LEEWAY_MS, 1 + LEEWAY_MS],
    ["ends a minute late, by a clock that was slightly ahead", 120_000 - LEEWAY_MS, 60_000],
    ["ends later than that, by a clock that was set back", 120_001 + LEEWAY_MS, null],
  ])("a window that %s", async (_, left, shown) => {
    const { database } = await opened(engine);
    const counter = new DatabaseStore(() => database.connection()).counter(LOGIN);
    freeze();
    await counter.add("a", 4);
    const put = () =>
      database.kysely
        .updateTable("rate_limits")
        .set({ resets_at: now() + left })
        .execute();
    await put();
    const found = await counter.get("a");
    expect(found?.attempts).toBe(shown === null ? undefined : 4);
    expect(Math.abs((found?.resetInMs ?? 0) - (shown ?? 0))).toBeLessThanOrEqual(LEEWAY_MS);
    await counter.takeBack("a", 1);
    await put();
    const { attempts, resetInMs } = await counter.add("a", 1);
    expect(attempts).toBe(shown === null ? 1 : 4);
    expect(Math.abs(resetInMs - (shown ?? 60_000))).toBeLessThanOrEqual(LEEWAY_MS);
  });

  test("after a commit, the reported end of the window is the one in the table", async () => {
    const { database } = await opened(engine);
    const counter = new DatabaseStore(() => database.connection()).counter(LOGIN);
    freeze();
    await counter.add("a", 1);
    const resetsAt = now() + 30_000;
    await database.kysely.updateTable("rate_limits").set({ resets_at: resetsAt }).execute();
    await database.transaction(() => counter.add("a", 1));
    const { attempts, resetInMs } = (await counter.get("a"))!;
    expect(attempts).toBe(2);
    expect(Math.abs(resetInMs - 30_000)).toBeLessThanOrEqual(LEEWAY_MS);
  });

  test("windows that end now are pruned, those that end later are not", async () => {
    const { database } = await opened(engine);
    const store = new DatabaseStore(() => database.connection());
    freeze();
    const rows = [0, 1 + LEEWAY_MS].map((left) => ({ id: `${left}`, attempts: 1, resets_at: now() + left }));
    await database.kysely.insertInto("rate_limits").values(rows).execute();
    expect(await store.prune()).toBe(1);
    const kept = await database.kysely.selectFrom("rate_limits").select("id").execute();
    expect(kept).toEqual([{ id: `${1 + LEEWAY_MS}` }]);
  });

  test("S33 the table holds no address, and the same key in another bucket has another row", async () => {
    const { database } = await opened(engine);
    const store = new DatabaseStore(() => database.connection());
    for (const name of ["login", "export"]) await store.counter({ ...LOGIN, name }).add("203.0.113.7", 1);
    const rows = await database.kysely.selectFrom("rate_limits").selectAll().execute();
    expect(rows).toHaveLength(2);
    for (const { id } of rows as { readonly id: string }[]) expect(id).toMatch(/^[\w-]{43}$/);
    expect(JSON.stringify(rows)).not.toContain("203.0");
  });

  test("a clock that is set back locks clients out for no longer than a window", async () => {
    const { database } = await opened(engine);
    const counter = new DatabaseStore(() => database.connection()).counter(LOGIN);
    travel(60 * 24);
    await counter.add("a", 9);
    travelBack();
    expect(await counter.get("a")).toBeNull();
    const { attempts, resetInMs } = await counter.add("a", 1);
    expect(attempts).toBe(1);
    expect(resetInMs).toBeLessThanOrEqual(60_000);
  });

  test("a statement prunes 500 rows, as many times as necessary, and active windows stay", async () => {
    const { database } = await opened(engine);
    const store = new DatabaseStore(() => database.connection());
    await store.counter(LOGIN).add("a", 1);
    let statements = 0;
    database.onQuery(({ sql }) => {
      if (sql.startsWith('delete from "rate_limits"')) statements++;
    });
    for (const [length, expected] of [
      [0, 1],
      [499, 1],
      [500, 2],
      [1200, 3],
    ] as const) {
      const rows = Array.from({ length }, (_, index) => ({ id: `old ${index}`, attempts: 1, resets_at: 1000 }));
      if (length > 0) await database.kysely.insertInto("rate_limits").values(rows).execute();
      statements = 0;
      expect([await store.prune(), statements]).toEqual([length, expected]);
    }
    expect((await store.counter(LOGIN).get("a"))!.attempts).toBe(1);
  });

  if (engine.name === "postgres") {
    test("S33 an attempt that begins a new window while its row is pruned counts", async () => {
      const { database } = await opened(engine);
      const store = sharing(database);
      await store.counter(LOGIN).add("a", 4);
      await database.kysely.updateTable("rate_limits").set({ resets_at: 1000 }).execute();
      const { promise: counted, resolve: count } = Promise.withResolvers<void>();
      const { promise: waited, resolve: wait } = Promise.withResolvers<void>();
      const attempt = database.transaction(async () => {
        await store.counter(LOGIN).add("a", 1);
        count();
        await waited;
      });
      await counted;
      const pruned = store.prune();
      const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(async () => (await waiting.execute(database.kysely)).rows.length).toBe(1);
      wait();
      await attempt;
      expect(await pruned).toBe(0);
      expect(await database.kysely.selectFrom("rate_limits").select("attempts").execute()).toEqual([{ attempts: 1 }]);
    });

    test("S33 processes whose clocks differ count in one window: the server's clock decides", async () => {
      const { database } = await opened(engine);
      const counter = new DatabaseStore(() => database.connection()).counter(LOGIN);
      await counter.add("a", 4);
      for (const hours of [1, -1]) {
        vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hours * 3_600_000 });
        setClock(null);
        const { attempts, resetInMs } = await counter.add("a", 1);
        vi.useRealTimers();
        expect(attempts).toBe(hours === 1 ? 5 : 6);
        expect(resetInMs).toBeLessThanOrEqual(60_000);
      }
    });
  }
});

/** A store without separate connections for its statements. */
function sharing(database: Database): DatabaseStore {
  return new DatabaseStore(() => database.connection(), 0);
}
