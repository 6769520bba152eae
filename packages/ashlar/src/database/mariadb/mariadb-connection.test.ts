import { createConnection } from "mysql2/promise";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { MARIADB } from "../../../test/support/mariadb-databases.ts";
import { mariadb, onMariadb, type TestDatabase } from "../../../test/support/services.ts";
import { Database, sql } from "../index.ts";

await onMariadb("a connection to MariaDB", () => {
  let own: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    own = await mariadb.open();
    const { kysely } = own.database;
    await sql`create table links (id integer primary key, token varchar(40))`.execute(kysely);
    await sql`create table codes (number integer)`.execute(kysely);
  });
  afterAll(() => own.drop());
  beforeEach(async () => {
    database = new Database({ default: "main", main: { ...own.configuration, poolSize: 1 } }, "/");
    await run("insert into links values (1, 'abc'), (2, 'xyz')");
  });
  afterEach(async () => {
    for (const table of ["links", "codes"]) await sql`delete from ${sql.id(table)}`.execute(own.database.kysely);
    await database.close();
  });

  const run = async (text: string): Promise<Record<string, unknown>[]> =>
    (await sql.raw<Record<string, unknown>>(text).execute(database.kysely)).rows;
  const id = async () => (await run("select connection_id() as id"))[0]!.id;
  const reserved = <T>(task: () => Promise<T>): Promise<T> => database.connection().reserved(task);
  const count = async (table: string) => Number((await run(`select count(*) as n from ${table}`))[0]!.n);

  /** A deletion that would delete every row, with only a warning from MariaDB. */
  const deletion = "delete from links where token = 0";
  const refused = { code: "E_DATABASE", databaseCode: "1292" };

  describe("that undoes a deletion that only warns", () => {
    test("doesn't commit the transaction that the deletion is in", async () => {
      const undone = database.transaction(async () => {
        await run("insert into codes values (1)");
        await expect(run(deletion)).rejects.toMatchObject(refused);
        throw new Error("no");
      });
      await expect(undone).rejects.toThrow("no");
      expect([await count("codes"), await count("links")]).toEqual([0, 2]);
    });

    test("leaves an accepted deletion to the transaction that it is in", async () => {
      const undone = database.transaction(async () => {
        await run("delete from links where id < 2");
        throw new Error("no");
      });
      await expect(undone).rejects.toThrow("no");
      expect(await count("links")).toBe(2);
      await run("delete from links where id < 2");
      const { rows } = await sql<{ n: unknown }>`select count(*) as n from links`.execute(own.database.kysely);
      expect(Number(rows[0]!.n)).toBe(1);
    });

    test.each(["commits", "rolls back"])("does so on its own after a transaction that %s", async (end) => {
      await reserved(async () => {
        const done = database.transaction(async () => {
          await run("insert into codes values (1)");
          if (end !== "commits") throw new Error("no");
        });
        await done.catch(() => {});
        await expect(run(deletion)).rejects.toMatchObject(refused);
        expect([await count("codes"), await count("links")]).toEqual([end === "commits" ? 1 : 0, 2]);
      });
    });

    test("reports the deadlock that the deletion ends with, and not the missing savepoint", async () => {
      const both = new Database({ default: "main", main: { ...own.configuration, poolSize: 2 } }, "/");
      onTestFinished(() => both.close());
      const { kysely } = both;
      const isLocked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
      const crossing = (first: 1 | 2, second: 1 | 2) =>
        both.transaction(async () => {
          await sql`select id from links where id = ${first} for update`.execute(kysely);
          isLocked[first - 1]!.resolve();
          await isLocked[second - 1]!.promise;
          await sql`delete from links where id = ${second} and 1 < 2`.execute(kysely);
        });
      const outcomes = await Promise.allSettled([crossing(1, 2), crossing(2, 1)]);
      const failures = outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
      expect(failures).toMatchObject([{ code: "E_DATABASE_CONFLICT", databaseCode: "1213" }]);
    });

    test("reports what ended the connection during the deletion", async () => {
      const holder = await createConnection({ ...MARIADB, database: String(own.configuration.database) });
      onTestFinished(() => holder.end());
      await holder.query("begin");
      await holder.query("select * from links for update");
      const number = await id();
      const waiting = expect(run(deletion)).rejects.toMatchObject({
        code: "E_DATABASE_UNAVAILABLE",
        databaseCode: "PROTOCOL_CONNECTION_LOST",
      });
      const isDeleting = `select 1 from information_schema.processlist where id = ${String(number)} and info like 'delete%'`;
      await expect.poll(async () => (await holder.query<never[]>(isDeleting))[0]).toHaveLength(1);
      await holder.query(`kill ${String(number)}`);
      await holder.query("rollback");
      await waiting;
      expect(await id()).not.toBe(number);
    });
  });

  describe("that reads warnings", () => {
    test("refuses no statement that found and changed nothing", async () => {
      expect(await run("select * from links where token = 0 and id > 2")).toEqual([]);
      expect(await run("select * from links where token = 5")).toEqual([]);
      await run("delete from links where token = 5");
      expect(await count("links")).toBe(2);
    });

    test("ignores warnings that aren't about a conversion", async () => {
      expect(await run("select 1 / 0 as nothing")).toEqual([{ nothing: null }]);
    });

    test("continues after it has refused a value", async () => {
      const before = await id();
      const compared = sql`select * from links where id = ${"1abc"}`.execute(database.kysely);
      await expect(compared).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
      await expect(run(deletion)).rejects.toMatchObject(refused);
      expect(await id()).toBe(before);
    });
  });

  /** A statement that fails with this error of the server. */
  const signal = (errno: number) => `signal sqlstate 'HY000' set mysql_errno = ${errno}`;

  test("continues after a deadlock outside of a transaction", async () => {
    await reserved(async () => {
      await expect(run(signal(1213))).rejects.toMatchObject({ code: "E_DATABASE_CONFLICT" });
      expect(await count("links")).toBe(2);
    });
  });

  test("after a deadlock refuses everything, until the transaction is rolled back", async () => {
    await reserved(async () => {
      const failed = database.transaction(async () => {
        await expect(run(signal(1213))).rejects.toMatchObject({ code: "E_DATABASE_CONFLICT" });
        await expect(run("select 1")).rejects.toMatchObject({
          code: "E_DATABASE_CONFLICT",
          databaseCode: "1213",
          message: expect.stringMatching(
            /^The database has rolled back this transaction \(.*1213.*\)\. Repeat the whole transaction\.$/,
          ),
        });
      });
      await expect(failed).rejects.toMatchObject({ code: "E_DATABASE_CONFLICT" });
      expect(await count("links")).toBe(2);
    });
  });

  test.each([
    ["a server that only reads since a failover", 1836, false],
    ["a lock that took too long", 1205, true],
  ])("after %s (%i) is used again: %s", async (_, errno, isUsed) => {
    const before = await id();
    await expect(run(signal(errno))).rejects.toMatchObject({ databaseCode: String(errno) });
    expect((await id()) === before).toBe(isUsed);
  });

  test("names the violated index's columns in its own table, in order", async () => {
    const other = await mariadb.open();
    onTestFinished(() => other.drop());
    const tables = "(c integer, b integer, a integer, unique index once";
    await sql.raw(`create table pairs ${tables} (b, a))`).execute(own.database.kysely);
    await sql.raw(`create table others ${tables} (c))`).execute(own.database.kysely);
    await sql.raw(`create table pairs ${tables} (c, a))`).execute(other.database.kysely);
    for (const name of ["pairs", '"pairs"', "`pairs`"]) {
      const insert = async () => await run(`insert into ${name} values (1, 2, 3)`);
      if (name === "pairs") await insert();
      else {
        await expect(insert()).rejects.toMatchObject({
          code: "E_UNIQUE_VIOLATION",
          ...{ table: "pairs", constraint: "once", columns: ["b", "a"] },
        });
      }
    }
    for (const name of ["pairs", "others"]) await run(`drop table ${name}`);
  });
});
