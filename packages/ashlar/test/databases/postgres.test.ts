import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { Database, Model, sql } from "../../src/database/index.ts";
import { onPostgres, postgres, type TestDatabase } from "../support/services.ts";

await onPostgres("PostgreSQL alone", () => {
  let own: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    own = await postgres.open({ poolSize: 3 });
    database = own.database;
  });
  afterAll(() => own.drop());

  const rows = async (text: string): Promise<unknown[]> => (await sql.raw(text).execute(database.kysely)).rows;
  /** The number of connections, without the server's own work, such as vacuum. */
  const connections = async (): Promise<{ readonly n: number }> => {
    const [count] = await rows(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`,
    );
    return count as { readonly n: number };
  };
  /** Ends the other connections, waits until they are gone, and returns how many there were. */
  const killOthers = async () => {
    const killed = await rows(
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    );
    // Their ends have arrived at this process as well, which reads them in the next turns.
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    return killed.length;
  };

  test("there are never more connections than the pool's size", async () => {
    const pids = await Promise.all(
      Array.from(
        { length: 30 },
        async () => ((await rows("select pg_backend_pid() as pid"))[0] as { pid: number }).pid,
      ),
    );
    expect(new Set(pids).size).toBeLessThanOrEqual(3);
    expect((await connections()).n).toBeLessThanOrEqual(3);
  });

  test("connections that the server ends while they are idle are replaced, and nothing fails", async () => {
    const uncaught: unknown[] = [];
    const listener = (error: unknown): void => void uncaught.push(error);
    process.on("uncaughtException", listener);
    onTestFinished(() => void process.off("uncaughtException", listener));
    const idle = new Database({ default: "main", main: own.configuration }, "/");
    onTestFinished(() => idle.close());
    const ask = async (text: string) => (await sql.raw(text).execute(idle.kysely)).rows;
    await Promise.all(Array.from({ length: 3 }, () => ask("select pg_sleep(0.02)")));
    expect(await killOthers()).toBeGreaterThanOrEqual(3);
    const answers = await Promise.all(Array.from({ length: 9 }, () => ask("select 1 as one")));
    expect([answers, uncaught]).toEqual([Array(9).fill([{ one: 1 }]), []]);
  });

  test("a lost connection inside a transaction is an error, and the next transaction works", async () => {
    await rows("create table kept (n integer)");
    const attempt = database.transaction(async () => {
      await rows("insert into kept values (1)");
      const [{ pid }] = (await rows("select pg_backend_pid() as pid")) as [{ pid: number }];
      const other = new Database({ default: "main", main: own.configuration }, "/");
      await sql.raw(`select pg_terminate_backend(${pid})`).execute(other.kysely);
      await other.close();
      // Long enough for the message to arrive while nothing runs on the connection.
      await sleep(100);
      await rows("insert into kept values (2)");
    });
    await expect(attempt).rejects.toMatchObject({ code: "E_DATABASE_UNAVAILABLE", status: 503 });
    await database.transaction(() => rows("insert into kept values (3)"));
    expect(await rows("select n from kept")).toEqual([{ n: 3 }]);
  });

  test("a connection on which even the rollback fails is discarded, and the error is the function's own", async () => {
    const small = await postgres.open({ poolSize: 1 });
    const { database: one } = small;
    const pid = async (): Promise<unknown> => (await sql`select pg_backend_pid() as pid`.execute(one.kysely)).rows[0];
    const first = await pid();
    expect(await one.transaction(pid)).toEqual(first);
    const no = new Error("no");
    await expect(one.transaction(() => Promise.reject(no))).rejects.toBe(no);
    expect(await pid()).toEqual(first);
    await one.transaction(async () => {
      const nested = one.transaction(async () => {
        // The savepoint to roll back to no longer exists.
        await sql`rollback`.execute(one.kysely);
        throw no;
      });
      await expect(nested).rejects.toBe(no);
    });
    expect(await pid()).not.toEqual(first);
    await small.drop();
  });

  test("a statement that takes too long is canceled, and the connection stays usable", async () => {
    // Long enough for the other statements, even on a busy machine.
    const main = { ...own.configuration, statementTimeoutMs: 2000, poolSize: 1 };
    const hurried = new Database({ default: "main", main }, "/");
    onTestFinished(() => hurried.close());
    const pid = async () => (await sql`select pg_backend_pid() as pid`.execute(hurried.kysely)).rows;
    const before = await pid();
    await expect(sql`select pg_sleep(10)`.execute(hurried.kysely)).rejects.toMatchObject({
      code: "E_DATABASE_UNAVAILABLE",
      databaseCode: "57014",
    });
    expect(await pid()).toEqual(before);
  });

  test("types arrive unchanged", async () => {
    const [row] = await rows(`select
      timestamptz '2026-07-01 12:00:00.123+02' as moment,
      timestamp '2026-07-01 12:00:00.123' as zoneless,
      date '2026-07-01' as day,
      42::bigint as small,
      9007199254740993::bigint as large,
      -9007199254740993::bigint as negative,
      1.10::numeric as exact,
      '{"a": [1]}'::jsonb as json,
      array[1, 2] as list,
      true as yes,
      '\\x0102'::bytea as bytes`);
    expect(row).toEqual({
      moment: new Date("2026-07-01T10:00:00.123Z"),
      zoneless: new Date("2026-07-01T12:00:00.123Z"),
      day: "2026-07-01",
      small: 42,
      large: 9007199254740993n,
      negative: -9007199254740993n,
      exact: "1.10",
      json: { a: [1] },
      list: [1, 2],
      yes: true,
      bytes: Buffer.from([1, 2]),
    });
  });

  test("a time is stored correctly, with a zone and without one, wherever the process runs", async () => {
    await rows("create table moments (zoned timestamptz, zoneless timestamp)");
    const before = process.env.TZ;
    const time = new Date("2026-07-01T12:00:00.123Z");
    for (const zone of ["Asia/Kolkata", "America/St_Johns"]) {
      process.env.TZ = zone;
      await database.kysely.insertInto("moments").values({ zoned: time, zoneless: time }).execute();
    }
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
    const stored = await database.kysely.selectFrom("moments").selectAll().execute();
    expect(stored).toEqual(Array(2).fill({ zoned: time, zoneless: time }));
  });

  test("parsers of the driver's other users stay unchanged", async () => {
    await database.connect();
    const { default: pg } = await import("pg");
    expect(pg.types.getTypeParser(20)("42")).toBe("42");
  });

  test("an invalid key finds nothing, and inside a transaction causes an error without values", async () => {
    class Thing extends Model {
      static override timestamps = false;
      declare id: number;
    }
    await rows("create table things (id bigint primary key)");
    Thing.useDatabase(database);
    expect(await Thing.find("secret-text")).toBe(null);
    // Text that no database can store is not even sent.
    expect(await database.transaction(() => Thing.find("\0"))).toBe(null);
    const attempt = database.transaction(() => Thing.find("secret-text"));
    await expect(attempt).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
    await expect(attempt).rejects.not.toThrow("secret-text");
  });

  test("a URL works too", async () => {
    const { host, port, user, database: name } = own.configuration as Record<string, string>;
    const url = `postgres://${user}@${host}:${port}/${name}`;
    const byUrl = new Database({ default: "main", main: { driver: "postgres", url } }, "/");
    expect((await sql`select 1 as one`.execute(byUrl.kysely)).rows).toEqual([{ one: 1 }]);
    await byUrl.close();
  });

  test.each(["separate settings", "a URL"])(
    "a test database is beside the original, with its settings, and gone once it is removed: %s",
    async (address) => {
      const { host, port, user, database: name } = own.configuration as Record<string, string>;
      const where = address === "a URL" ? { url: `postgres://${user}@${host}:${port}/${name}` } : own.configuration;
      const main = { ...where, driver: "postgres", statementTimeoutMs: 1234 };
      const original = new Database({ default: "main", main }, "/");
      onTestFinished(() => original.close());
      const made = await original.dialect.maintenance.createTestDatabase();
      const copy = new Database({ default: "main", main: made.dialect }, "/");
      const query = sql<{
        name: string;
      }>`select current_database() as name, current_setting('statement_timeout') as timeout`;
      const [seen] = (await query.execute(copy.kysely)).rows;
      await copy.close();
      expect(seen).toEqual({ name: expect.stringMatching(/^ashlar_test_[0-9a-f]{16}$/), timeout: "1234ms" });
      const before = (await connections()).n;
      // An idle connection would be closed after half a minute, but the timers are stopped.
      const remove = async (): Promise<void> => {
        vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
        await made.remove().finally(() => vi.useRealTimers());
      };
      // The server refuses to drop a template, and the caller gets the error.
      await rows(`alter database ${seen!.name} is_template true`);
      await expect(remove()).rejects.toThrow("template");
      await rows(`alter database ${seen!.name} is_template false`);
      await remove();
      expect(await rows(`select datname from pg_database where datname = '${seen!.name}'`)).toEqual([]);
      await expect.poll(async () => (await connections()).n).toBeLessThanOrEqual(before);
    },
  );

  test("a test database can be created and removed, however short the application's statement limit is", async () => {
    const main = { ...own.configuration, driver: "postgres", statementTimeoutMs: 1 };
    const original = new Database({ default: "main", main }, "/");
    onTestFinished(() => original.close());
    const made = await original.dialect.maintenance.createTestDatabase();
    await made.remove();
  });

  test.each([
    [{ port: 1 }, "E_DATABASE_UNAVAILABLE", "ECONNREFUSED", "Start the server, or correct its address in"],
    [{ host: "shop.invalid" }, "E_DATABASE_UNAVAILABLE", "ENOTFOUND", "Start the server, or correct its address in"],
    [{ database: "no_such_database_here" }, "E_DATABASE", "3D000", "or correct its name in"],
  ])("an unreachable server causes an error that says so: %j", async (settings, code, databaseCode, remedy) => {
    const options = { ...own.configuration, password: "never to be shown", ...settings };
    const wrong = new Database({ default: "main", main: options }, "/");
    const message = expect.stringMatching(new RegExp(`${remedy} config/database\\.ts: DATABASES\\.main\\.$`));
    await expect(wrong.connect()).rejects.toMatchObject({ code, databaseCode, message });
    await expect(wrong.connect()).rejects.not.toThrow("never to be shown");
    await expect(wrong.dialect.maintenance.createTestDatabase()).rejects.toMatchObject({ code, databaseCode, message });
    await wrong.close();
  });

  test("a transaction that the server could not serialize is an error with its own code", async () => {
    await rows("create table counters (n integer)");
    await rows("insert into counters values (0)");
    let readers = 0;
    const bothHaveRead = Promise.withResolvers<void>();
    const addOne = () =>
      database.transaction(
        async (trx) => {
          const { n } = await trx.selectFrom("counters").select("n").executeTakeFirstOrThrow();
          if (++readers === 2) bothHaveRead.resolve();
          await bothHaveRead.promise;
          await trx
            .updateTable("counters")
            .set({ n: n + 1 })
            .execute();
        },
        { isolation: "serializable" },
      );
    const outcomes = await Promise.allSettled([addOne(), addOne()]);
    const failures = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(failures.map(({ reason }) => [reason.code, reason.databaseCode])).toEqual([
      ["E_DATABASE_CONFLICT", "40001"],
    ]);
    expect(await rows("select n from counters")).toEqual([{ n: 1 }]);
  });

  test("several transactions refer to one row at the same time", async () => {
    await rows("create table owners (id integer primary key)");
    await rows("insert into owners values (1)");
    const all = Promise.withResolvers<void>();
    let holders = 0;
    const refer = () =>
      database.transaction(async () => {
        await database.dialect.transactions
          .lockRows(database.kysely.selectFrom("owners").select("id"), "reference")
          .execute();
        if (++holders === 2) all.resolve();
        await all.promise;
      });
    await Promise.all([refer(), refer()].map((done) => done.finally(all.resolve)));
    expect(holders).toBe(2);
  });

  test("several statements in one text return the last one's rows", async () => {
    expect(await rows("select 1 as n; select 2 as n")).toEqual([{ n: 2 }]);
  });
});
