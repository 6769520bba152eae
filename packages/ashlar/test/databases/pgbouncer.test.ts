import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { connectionSource, Database, sql } from "../../src/database/index.ts";
import { dialectSuite } from "../../src/testing/suites/dialect-suite.ts";
import { type RunningBouncer, startPgbouncer } from "../support/pgbouncer.ts";
import { onPostgres, postgres } from "../support/services.ts";
import { withProgram } from "../support/system-programs.ts";

await onPostgres("through a pooler", () => {
  withProgram("pgbouncer", () => {
    let bouncer: RunningBouncer;
    beforeAll(async () => {
      bouncer = await startPgbouncer(20);
    });
    afterAll(() => bouncer.end());
    const open = async (settings: object = {}) => {
      const own = await postgres.open({ transactionPooling: true, port: bouncer.port, host: "127.0.0.1", ...settings });
      onTestFinished(() => own.drop());
      return own;
    };

    describe("the dialect keeps its promises", () => {
      const suite = dialectSuite(async (options) => {
        const { database, configuration, drop } = await postgres.open({
          transactionPooling: true,
          host: "127.0.0.1",
          port: bouncer.port,
          ...options,
        });
        await database.close();
        return { dialect: connectionSource("main", configuration), remove: drop };
      });
      for (const { title, run } of suite) test(title, run);
    });

    test("a connection without the setting is refused, with the line to write", async () => {
      const { configuration } = await open();
      const main = { ...configuration, transactionPooling: false };
      const database = new Database({ default: "main", main }, "/");
      onTestFinished(() => database.close());
      await expect(database.connect()).rejects.toMatchObject({
        code: "E_DATABASE_UNAVAILABLE",
        message: expect.stringMatching(/ Set transactionPooling to true in config\/database\.ts: DATABASES\.main\.$/),
      });
    });

    test("many connections share a few server sessions, and leave nothing in them", async () => {
      const { database, configuration } = await open({
        poolSize: 40,
        statementTimeoutMs: 61_234,
        acquireTimeoutMs: 600_000,
      });
      await sql`create table counters (n integer)`.execute(database.kysely);
      await sql`insert into counters values (0)`.execute(database.kysely);
      const limit = async () =>
        (await sql<{ limit: string }>`select current_setting('statement_timeout') as limit`.execute(database.kysely))
          .rows[0]!.limit;
      const limits = await Promise.all(
        Array.from({ length: 80 }, () =>
          database.transaction(async () => {
            await sql`update counters set n = n + 1`.execute(database.kysely);
            return limit();
          }),
        ),
      );
      expect(new Set(limits)).toEqual(new Set(["61234ms"]));
      expect((await sql`select n from counters`.execute(database.kysely)).rows).toEqual([{ n: 80 }]);
      expect(await limit()).not.toBe("61234ms");
      const direct = new Database({ default: "main", main: { ...configuration, ...DIRECT } }, "/");
      onTestFinished(() => direct.close());
      const { rows } = await sql<{ n: number }>`select count(*)::int as n from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`.execute(
        direct.kysely,
      );
      expect(rows[0]!.n).toBeLessThanOrEqual(20);
    });

    test("a backslash in a literal is a character, inside and outside transactions, whatever the database's default", async () => {
      const { database, configuration } = await open();
      const name = sql.id(String(configuration.database));
      const main = { ...configuration, ...DIRECT };
      const direct = new Database({ default: "main", main }, "/");
      onTestFinished(async () => {
        await sql`alter database ${name} reset all`.execute(direct.kysely);
        await direct.close();
      });
      await sql`alter database ${name} set standard_conforming_strings = off`.execute(direct.kysely);
      await database.close();
      const later = new Database({ default: "main", main: configuration }, "/");
      onTestFinished(() => later.close());
      const text = "\\' union select 'injected' -- ";
      const read = async () => (await sql`select ${sql.lit(text)} as text`.execute(later.kysely)).rows;
      expect(await read()).toEqual([{ text }]);
      expect(await later.transaction(read)).toEqual([{ text }]);
    });

    test("a statement in a transaction is canceled by the server, and migrations have no limit", async () => {
      const { database } = await open({ statementTimeoutMs: 50 });
      const slow = () => sql`select pg_sleep(0.2)`.execute(database.kysely);
      await expect(database.transaction(slow)).rejects.toMatchObject({ databaseCode: "57014" });
      await database.connection().maintenance.withMigrationLock(() => database.transaction(slow));
    });

    test("migrations exclude other processes' migrations, with or without the pooler", async () => {
      const { configuration } = await open();
      const database = (settings: object) => {
        const other = new Database({ default: "main", main: { ...configuration, ...settings } }, "/");
        onTestFinished(() => other.close());
        return other.connection();
      };
      const order: string[] = [];
      const migrate = (name: string, settings: object = {}) =>
        database(settings).maintenance.withMigrationLock(async () => {
          order.push(`${name} begins`);
          await sql`select pg_sleep(0.02)`.execute(database(settings).kysely);
          order.push(`${name} ends`);
        });
      await Promise.all([migrate("one"), migrate("two"), migrate("three", DIRECT)]);
      for (let n = 0; n < 6; n += 2) expect(order[n + 1]).toBe(order[n]!.replace("begins", "ends"));
      expect(order).toHaveLength(6);
      const connection = database({});
      const nested = connection.maintenance.withMigrationLock(() =>
        connection.maintenance.withMigrationLock(async () => "inside"),
      );
      expect(await nested).toBe("inside");
      expect(await database(DIRECT).maintenance.withMigrationLock(async () => "free")).toBe("free");
    });
  });
});

const DIRECT = { transactionPooling: false, port: Number(process.env.PGPORT ?? 5432) };
