import pg from "pg";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Database, Model, sql } from "../../src/database/index.ts";
import { testApi } from "../support/api-application.ts";
import { POSTGRES } from "../support/postgres-databases.ts";
import { onPostgres, postgres, type TestDatabase } from "../support/services.ts";

class Counter extends Model {
  static override table = "counters";
  static override timestamps = false;
  static override fillable = ["n"];
  declare id: number;
  declare n: number;
}

/** Makes every transaction and statement serializable from now on, as a server's configuration can. */
function serializeAll(): void {
  const before = process.env.PGOPTIONS;
  process.env.PGOPTIONS = "-c default_transaction_isolation=serializable";
  onTestFinished(() => {
    if (before === undefined) delete process.env.PGOPTIONS;
    else process.env.PGOPTIONS = before;
  });
}

await onPostgres("what PostgreSQL refuses because of another transaction", () => {
  let own: TestDatabase;
  let database: Database;

  const open = async (): Promise<void> => {
    own = await postgres.open();
    database = own.database;
    await sql`create table counters (id integer primary key, n integer not null)`.execute(database.kysely);
    await sql`insert into counters values (1, 0), (2, 0)`.execute(database.kysely);
    Counter.useDatabase(database);
  };
  afterEach(() => own.drop());

  const stored = async (id = 1): Promise<unknown> =>
    (await sql<{ n: number }>`select n from counters where id = ${id}::int`.execute(database.kysely)).rows[0]!.n;
  /** Changes the row from outside of the caller's transaction. */
  const interfere = async (): Promise<void> => {
    const client = new pg.Client({ ...POSTGRES, database: String(own.configuration.database) });
    await client.connect();
    await client.query("update counters set n = n + 100 where id = 1");
    await client.end();
  };

  describe("in a transaction", () => {
    beforeEach(open);
    const SERIALIZABLE = { isolation: "serializable" } as const;

    /** A transaction whose first attempts run into a conflict. */
    const contested = (conflicts: number, retries: number | undefined, seen: unknown[] = []) => {
      let attempts = 0;
      return database.transaction(
        async () => {
          attempts += 1;
          const counter = await Counter.findOrFail(1);
          seen.push(counter.n);
          if (attempts <= conflicts) await interfere();
          counter.n += 1;
          await counter.save();
          await database.afterCommit(() => void seen.push("after the commit"));
          return attempts;
        },
        { ...SERIALIZABLE, ...(retries !== undefined && { retries }) },
      );
    };

    test("is repeated completely, in a new transaction, as often as it allows", async () => {
      const seen: unknown[] = [];
      expect(await contested(2, 2, seen)).toBe(3);
      expect(seen).toEqual([0, 100, 200, "after the commit"]);
      expect(await stored()).toBe(201);
    });

    test("is an error after that, and without retries at once", async () => {
      const seen: unknown[] = [];
      await expect(contested(2, 1, seen)).rejects.toMatchObject({ code: "E_DATABASE_CONFLICT", status: 503 });
      expect(seen).toEqual([0, 100]);
      await expect(contested(1, undefined)).rejects.toMatchObject({ code: "E_DATABASE_CONFLICT" });
    });

    test("is repeated if the function wrapped the error, or continued", async () => {
      for (const make of [() => Promise.reject(new Error("Sorry.")), () => "went on"]) {
        let attempts = 0;
        const result = database.transaction(
          async () => {
            attempts += 1;
            await stored();
            if (attempts === 1) await interfere();
            return await sql`update counters set n = 7 where id = 1`.execute(database.kysely).then(() => "done", make);
          },
          { ...SERIALIZABLE, retries: 1 },
        );
        expect([await result, attempts]).toEqual(["done", 2]);
      }
    });

    test("is repeated if a nested one's function wrapped the error", async () => {
      let attempts = 0;
      const update = () => sql`update counters set n = 7 where id = 1`.execute(database.kysely);
      const result = database.transaction(
        async () => {
          attempts += 1;
          await stored();
          if (attempts === 1) await interfere();
          return await database.transaction(() =>
            update().then(
              () => "done",
              () => Promise.reject(new Error("Sorry.")),
            ),
          );
        },
        { ...SERIALIZABLE, retries: 1 },
      );
      expect([await result, attempts]).toEqual(["done", 2]);
    });

    test("is not repeated for any other reason", async () => {
      let attempts = 0;
      const failing = database.transaction(
        () => {
          attempts += 1;
          throw new Error("no");
        },
        { retries: 5 },
      );
      await expect(failing).rejects.toThrow("no");
      expect(attempts).toBe(1);
      const taken = database.transaction(
        () => {
          attempts += 1;
          return sql`insert into counters values (1, 1)`.execute(database.kysely);
        },
        { retries: 5 },
      );
      await expect(taken).rejects.toMatchObject({ code: "E_UNIQUE_VIOLATION" });
      expect(attempts).toBe(2);
    });

    test("leaves nothing from the failed attempt in models, whose changes are stored again", async () => {
      const made = new Counter();
      made.id = 3;
      made.n = 1;
      const known = await Counter.findOrFail(2);
      known.n = 5;
      let attempts = 0;
      const keys: unknown[] = [];
      await database.transaction(
        async () => {
          attempts += 1;
          keys.push(made.isStored(), known.isDirty("n"));
          await Promise.all([made.save(), known.save()]);
          await stored();
          if (attempts === 1) await interfere();
          await sql`update counters set n = n + 1 where id = 1`.execute(database.kysely);
        },
        { ...SERIALIZABLE, retries: 1 },
      );
      expect(keys).toEqual([false, true, false, true]);
      expect([await stored(3), await stored(2), await stored(1)]).toEqual([1, 5, 101]);
    });

    test("has no effect on a nested one, whose outer one is repeated", async () => {
      let [outer, inner] = [0, 0];
      await database.transaction(
        async () => {
          outer += 1;
          await stored();
          if (outer === 1) await interfere();
          await database.transaction(
            () => {
              inner += 1;
              return sql`update counters set n = n + 1 where id = 1`.execute(database.kysely);
            },
            { retries: 9 },
          );
        },
        { ...SERIALIZABLE, retries: 1 },
      );
      expect([outer, inner, await stored()]).toEqual([2, 2, 101]);
    });

    test("completes both of two that lock the same rows in opposite order", async () => {
      const both = Promise.withResolvers<void>();
      let holders = 0;
      const raise = (id: number) => sql`update counters set n = n + 1 where id = ${id}::int`.execute(database.kysely);
      const change = (first: number, second: number) =>
        database.transaction(
          async () => {
            await raise(first);
            if (++holders === 2) both.resolve();
            await both.promise;
            await raise(second);
          },
          { retries: 1 },
        );
      await Promise.all([change(1, 2), change(2, 1)]);
      expect([holders, await stored(1), await stored(2)]).toEqual([3, 2, 2]);
    });
  });

  test("in a separate statement is run again until it succeeds", async () => {
    serializeAll();
    await open();
    const raise = sql`update counters set n = n + 1 where id = 1`;
    const asked: string[] = [];
    database.onQuery(({ sql: text }) => asked.push(text));
    let raised = 0;
    // Repeated until there was a conflict; without one, this tests nothing.
    while (asked.length <= raised && raised < 60 * 100) {
      await Promise.all(Array.from({ length: 60 }, () => raise.execute(database.kysely)));
      raised += 60;
    }
    expect(asked.length).toBeGreaterThan(raised);
    expect(await stored()).toBe(raised);
  });
});

await onPostgres("with a server on which everything is serializable", () => {
  test("of 120 parallel renewals of a token, one creates a new one, all get it, and none fails", async () => {
    serializeAll();
    const api = await testApi({ engine: postgres, settings: { acquireTimeoutMs: 600_000, statementTimeoutMs: 0 } });
    const token = await api.token();
    const { rows: named } = await sql<{ name: string }>`select current_database() as name`.execute(api.database.kysely);
    const holder = new pg.Client({ ...POSTGRES, database: named[0]!.name });
    await holder.connect();
    await holder.query("begin; select * from users for update");
    const sent = Array.from({ length: 120 }, () => api.post("/api/reauth", { token }));
    // All but one of the renewals that wait for the row run into a conflict.
    const waiting =
      "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    await expect
      .poll(async () => {
        // In a transaction, the server would return the first result again.
        await holder.query("select pg_stat_clear_snapshot()");
        return (await holder.query(waiting)).rows[0].n;
      })
      .toBeGreaterThan(5);
    await holder.query("commit");
    await holder.end();
    const answers = await Promise.all(sent);
    expect(answers.map(({ status }) => status)).toEqual(Array(120).fill(200));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(await api.toldOf("api.token_renewed")).toHaveLength(1);
  });
});
