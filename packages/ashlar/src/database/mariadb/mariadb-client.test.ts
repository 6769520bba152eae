import * as mysql2 from "mysql2";
import { type Connection as Client, createConnection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { MARIADB } from "../../../test/support/mariadb-databases.ts";
import { mariadb, onMariadb, type TestDatabase } from "../../../test/support/services.ts";
import { Database, type DialectSetup, sql } from "../index.ts";
import { MariadbDialect } from "./mariadb-dialect.ts";
import { readMariadbSettings } from "./mariadb-settings.ts";

await onMariadb("a client of MariaDB", () => {
  let own: TestDatabase;
  beforeAll(async () => {
    own = await mariadb.open();
  });
  afterAll(() => own.drop());

  const open = (settings: object = {}): Database => {
    const main = { ...own.configuration, poolSize: 1, ...settings };
    const database = new Database({ default: "main", main }, "/");
    onTestFinished(() => database.close());
    return database;
  };
  const run = async (database: Database, text: string): Promise<Record<string, unknown>[]> =>
    (await sql.raw<Record<string, unknown>>(text).execute(database.kysely)).rows;
  const id = async (database: Database) => (await run(database, "select connection_id() as id"))[0]!.id;
  const status = async (database: Database, name: string): Promise<number> =>
    Number((await run(database, `show session status like '${name}'`))[0]!.Value);

  describe("with a time limit", () => {
    /** Another client that holds a server lock. */
    const holding = async (lock: string): Promise<Client> => {
      const holder = await createConnection({ ...MARIADB });
      onTestFinished(() => holder.end());
      await holder.query(`select get_lock('${lock}', 0)`);
      return holder;
    };
    const isWaiting = async (holder: Client, lock: string): Promise<void> => {
      const waiting = `select 1 from information_schema.processlist where id <> connection_id() and info like '%${lock}%'`;
      // `expect.poll` would move the fake clock.
      while ((await holder.query<never[]>(waiting))[0].length === 0);
    };
    const moveClock = (): void => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
    };

    test("waits a second longer than the server's own limit, and then drops the connection", async () => {
      const database = open({ statementTimeoutMs: 60_000 });
      const holder = await holding("ashlar_client_late");
      const before = await id(database);
      moveClock();
      let isOver = false;
      const statement = run(database, "select get_lock('ashlar_client_late', 600)").finally(() => {
        isOver = true;
      });
      const failed = expect(statement).rejects.toMatchObject({
        code: "E_DATABASE_UNAVAILABLE",
        message: "The database server did not respond within 61000 ms.",
      });
      await isWaiting(holder, "ashlar_client_late");
      await vi.advanceTimersByTimeAsync(60_999);
      expect(isOver).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      await failed;
      expect(await id(database)).not.toBe(before);
    });

    test("waits for a migration's statement as long as it takes", async () => {
      const database = open({ statementTimeoutMs: 60_000 });
      const holder = await holding("ashlar_client_migration");
      moveClock();
      const rows = database.connection().maintenance.withMigrationLock(async () => {
        const statement = run(database, "select get_lock('ashlar_client_migration', 600) as locked");
        await isWaiting(holder, "ashlar_client_migration");
        await vi.advanceTimersByTimeAsync(86_400_000);
        await holder.query("do release_lock('ashlar_client_migration')");
        return await statement;
      });
      expect(await rows).toEqual([{ locked: 1 }]);
    });

    test("keeps the connection of a statement that has ended", async () => {
      const database = open({ statementTimeoutMs: 60_000 });
      moveClock();
      const before = await id(database);
      await expect(run(database, "select nothing")).rejects.toMatchObject({ code: "E_DATABASE" });
      expect(vi.getTimerCount()).toBe(0);
      expect(await id(database)).toBe(before);
    });
  });

  test("prepares only statements with values, and closes the oldest beyond 200", async () => {
    const database = open();
    await database.connection().reserved(async () => {
      const before = await status(database, "Com_stmt_prepare");
      await run(database, "select 1");
      expect(await status(database, "Com_stmt_prepare")).toBe(before);
      for (let n = 0; n < 205; n++) await sql`select ${"x"} as ${sql.id(`x${n}`)}`.execute(database.kysely);
      expect(await status(database, "Com_stmt_prepare")).toBe(before + 205);
      expect(await status(database, "Com_stmt_close")).toBe(5);
    });
  });

  test("reads days and decimals as text, and large numbers exactly", async () => {
    const text = "select date '2026-02-03' as day, 1.10 as price, 9007199254740993 as large, 7 as small";
    expect(await run(open(), text)).toEqual([
      { day: "2026-02-03", price: "1.10", large: 9_007_199_254_740_993n, small: 7 },
    ]);
  });

  test("never hands a file to the server", async () => {
    const database = open();
    await run(database, "create table hosts (name text)");
    onTestFinished(async () => void (await run(own.database, "drop table hosts")));
    const load = run(database, "load data local infile '/etc/hostname' into table hosts");
    await expect(load).rejects.toMatchObject({ databaseCode: expect.stringMatching(/^(?:1148|4166)$/) });
  });

  test("whose driver doesn't report the number of warnings requests them only after a comparison with text", async () => {
    const { driver: _, ...options } = own.configuration;
    const load = async (): Promise<typeof mysql2> => {
      const createHidden = ((given: mysql2.ConnectionOptions) => {
        const connection = mysql2.createConnection(given);
        for (const name of ["query", "execute"] as const) {
          const original = connection[name].bind(connection) as (...args: unknown[]) => unknown;
          Object.assign(connection, {
            [name]: (...args: unknown[]) => {
              original(...args);
              return {};
            },
          });
        }
        return connection;
      }) as typeof mysql2.createConnection;
      return { ...mysql2, createConnection: createHidden };
    };
    const main = (setup: DialectSetup) =>
      new MariadbDialect(readMariadbSettings({ ...options, poolSize: 1 }, { where: "main" }), setup, { load });
    const database = new Database({ default: "main", main }, "/");
    onTestFinished(() => database.close());
    const one = (value: unknown) => sql`select 1 as one from dual where 0 = ${value}`.execute(database.kysely);
    await database.connection().reserved(async () => {
      const before = await status(database, "Com_show_warnings");
      await expect(one("abc")).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
      expect(await status(database, "Com_show_warnings")).toBe(before + 1);
      expect((await one(0)).rows).toEqual([{ one: 1 }]);
      expect(await status(database, "Com_show_warnings")).toBe(before + 1);
    });
  });
});
