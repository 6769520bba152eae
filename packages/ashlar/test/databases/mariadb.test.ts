import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Connection } from "../../src/database/connections/connection.ts";
import {
  Database,
  type DialectSetup,
  type DialectSource,
  primaryKey,
  reference,
  sql,
  timestamp,
} from "../../src/database/index.ts";
import { MariadbDialect } from "../../src/database/mariadb/mariadb-dialect.ts";
import { readMariadbSettings } from "../../src/database/mariadb/mariadb-settings.ts";
import { failureOf } from "../../src/testing/suites/dialect/dialect-test.ts";
import { WRITES } from "../../src/testing/suites/dialect/writes.ts";
import { dialectSuite } from "../../src/testing/suites/dialect-suite.ts";
import { administerMariadb } from "../support/mariadb-databases.ts";
import { MigrationFolder } from "../support/migration-folder.ts";
import { mariadb, onMariadb, type TestDatabase } from "../support/services.ts";

await onMariadb("MariaDB alone", () => {
  let own: TestDatabase;

  beforeAll(async () => {
    own = await mariadb.open({ poolSize: 3 });
    const { kysely } = own.database;
    await kysely.schema
      .createTable("people")
      .$call(primaryKey(kysely))
      .addColumn("email", "varchar(254)", (column) => column.notNull().unique())
      .addColumn("points", "integer", (column) => column.notNull().defaultTo(0))
      .addColumn("seen_at", timestamp(kysely))
      .execute();
  });
  afterAll(() => own.drop());

  const rowsOf = async (text: string): Promise<Record<string, unknown>[]> =>
    (await sql.raw<Record<string, unknown>>(text).execute(own.database.kysely)).rows;

  test("S35 addresses that differ by an accent, by case or by a space are different, whatever the server's default", async () => {
    const { kysely } = own.database;
    const [{ collation } = { collation: "" }] = await rowsOf("select @@collation_database as collation");
    expect(collation).toMatch(/_ci$/);
    const emails = ["jose@example.com", "josé@example.com", "JOSE@example.com", "jose@example.com "];
    await kysely
      .insertInto("people")
      .values(emails.map((email) => ({ email })))
      .execute();
    for (const email of emails) {
      const found = await kysely.selectFrom("people").select("email").where("email", "=", email).execute();
      expect(found).toEqual([{ email }]);
    }
    await kysely.deleteFrom("people").execute();
  });

  test("times are in UTC, with milliseconds, whatever the server's time zone", async () => {
    const { kysely } = own.database;
    const seen_at = new Date("2026-07-01T12:00:00.123Z");
    await kysely.insertInto("people").values({ email: "ada@example.com", seen_at }).execute();
    const [row] = await rowsOf("select seen_at, cast(seen_at as char) as text, @@time_zone as zone from people");
    expect(row).toEqual({ seen_at, text: "2026-07-01 12:00:00.123", zone: "+00:00" });
    await kysely.deleteFrom("people").execute();
  });

  test("a value that does not fit is refused instead of being cut off", async () => {
    const { kysely } = own.database;
    const long = kysely.insertInto("people").values({ email: "x".repeat(255) });
    await expect(long.execute()).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
    const large = kysely.insertInto("people").values({ email: "x", points: 2 ** 40 });
    await expect(large.execute()).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
  });

  test("text that is compared with a number is not converted: it equals neither 0 nor the number it begins with", async () => {
    const { kysely } = own.database;
    await kysely.insertInto("people").values({ email: "ada@example.com", points: 0 }).execute();
    for (const text of ["abc", "", "0abc"]) {
      const found = kysely.selectFrom("people").selectAll().where("points", "=", text);
      await expect(found.execute(), text).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
      const deleted = kysely.deleteFrom("people").where("points", "=", text);
      await expect(deleted.execute(), text).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
    }
    expect(await kysely.deleteFrom("people").where("points", "=", "0").execute()).toMatchObject([
      { numDeletedRows: 1n },
    ]);
  });

  describe("text and numbers that a statement itself compares", () => {
    const other = () => own.database.kysely.selectFrom("codes").select("number");
    const refused = { code: "E_DATABASE", databaseCode: "1292" };
    beforeEach(async () => {
      const { kysely } = own.database;
      await kysely.schema.createTable("codes").addColumn("number", "integer").execute();
      await kysely.schema
        .createTable("links")
        .addColumn("id", "integer")
        .addColumn("token", "varchar(40)")
        .addColumn("seen_at", timestamp(kysely))
        .execute();
      await kysely.insertInto("codes").values({ number: 0 }).execute();
      const tokens = ["abc", "0", "xyz"];
      await kysely
        .insertInto("links")
        .values(tokens.map((token, id) => ({ id, token })))
        .execute();
    });
    afterEach(async () => {
      for (const table of ["codes", "links"]) await own.database.kysely.schema.dropTable(table).execute();
    });
    const left = async () => (await own.database.kysely.selectFrom("links").select("token").execute()).length;

    test("are refused by reads, instead of finding everything", async () => {
      const { kysely } = own.database;
      const links = kysely.selectFrom("links").select("id");
      for (const query of [
        links.innerJoin("codes", "codes.number", "links.token"),
        links.where("token", "in", other()),
        links.where("token", "=", sql.lit(0)),
        links.where("token", "=", sql.lit(0)).where("id", "<", 9),
        links.where("id", "=", Buffer.from("0abc")),
      ]) {
        const { code } = (await failureOf(query.execute())) as { readonly code: string };
        expect([query.compile().sql, code]).toEqual([
          query.compile().sql,
          query.compile().parameters[0] instanceof Buffer ? "E_INVALID_INPUT" : "E_DATABASE",
        ]);
      }
      expect(await links.where("token", "=", sql<string>`cast(${sql.lit(0)} as char)`).execute()).toEqual([{ id: 1 }]);
    });

    test("are refused by changes, which leave all rows, in a transaction too, and the connection continues", async () => {
      const { kysely } = own.database;
      const deletions = [
        kysely.deleteFrom("links").where("token", "in", other()),
        kysely.deleteFrom("links").where("token", "=", sql.lit(0)),
        kysely.deleteFrom("links").where("token", "=", sql.lit(0)).returning("id"),
        kysely.deleteFrom("links").using("links").innerJoin("codes", "codes.number", "links.token"),
        kysely.deleteFrom("links").where("token", "<", new Date()),
      ];
      for (const deletion of deletions) {
        const { sql: text } = deletion.compile();
        await expect(deletion.execute(), text).rejects.toMatchObject(refused);
        expect(await left(), text).toBe(3);
        await own.database.transaction(async () => {
          await kysely.insertInto("codes").values({ number: 1 }).execute();
          await expect(deletion.execute(), text).rejects.toMatchObject(refused);
          expect(await left(), text).toBe(3);
        });
      }
      expect(await other().where("number", "=", 1).execute()).toHaveLength(deletions.length);
    });

    test("are refused by changes that ignore errors, and leave no trace", async () => {
      const { kysely } = own.database;
      const update = sql`update ignore links set id = 9 where token in (select number from codes)`;
      await expect(update.execute(kysely)).rejects.toMatchObject(refused);
      expect(await kysely.selectFrom("links").select("id").where("id", "=", 9).execute()).toEqual([]);
    });

    test("cost a deletion by number no additional statement", async () => {
      const { kysely } = own.database;
      const begun = await own.database.connection().reserved(async () => {
        const count = async () => Number((await rowsOf("show session status like 'Questions'"))[0]!.Value);
        const before = await count();
        await kysely.deleteFrom("links").where("id", "=", 1).execute();
        return (await count()) - before - 1;
      });
      expect(begun).toBe(1);
    });
  });

  test("only trailing spaces of a text that is too long are cut off without an error", async () => {
    const { kysely } = own.database;
    const full = "x".repeat(254);
    await kysely
      .insertInto("people")
      .values({ email: `${full}  ` })
      .execute();
    expect(await kysely.selectFrom("people").select("email").execute()).toEqual([{ email: full }]);
    await kysely.deleteFrom("people").execute();
    const long = kysely.insertInto("people").values({ email: `${full} x` });
    await expect(long.execute()).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
  });

  test("a lookup by text requests no warnings, because the response contains their number", async () => {
    const { kysely } = own.database;
    await kysely.insertInto("people").values({ email: "ada@example.com" }).execute();
    const asked = await own.database.connection().reserved(async () => {
      const count = async () => Number((await rowsOf("show session status like 'Com_show_warnings'"))[0]!.Value);
      const before = await count();
      const found = await kysely.selectFrom("people").select("email").where("email", "=", "ada@example.com").execute();
      expect(found).toHaveLength(1);
      return (await count()) - before;
    });
    expect(asked).toBe(0);
    await kysely.deleteFrom("people").execute();
  });

  test("a column that is added with a reference keeps it", async () => {
    const { kysely } = own.database;
    await kysely.schema.createTable("notes").addColumn("text", "varchar(20)").execute();
    await kysely.schema
      .alterTable("notes")
      .addColumn("person_id", reference(kysely), (column) => column.references("people.id").onDelete("cascade"))
      .execute();
    const dangling = kysely.insertInto("notes").values({ person_id: 999 });
    await expect(dangling.execute()).rejects.toMatchObject({
      code: "E_FOREIGN_KEY_VIOLATION",
      table: "notes",
      columns: ["person_id"],
    });
    await kysely.schema.dropTable("notes").execute();
  });

  test("a connection on which even the rollback fails is discarded, and the error is the function's own", async () => {
    const one = new Database({ default: "main", main: { ...own.configuration, poolSize: 1 } }, "/");
    const id = async () => (await sql`select connection_id() as id`.execute(one.kysely)).rows[0];
    const first = await id();
    const no = new Error("no");
    await expect(one.transaction(() => Promise.reject(no))).rejects.toBe(no);
    expect(await id()).toEqual(first);
    await one.transaction(async () => {
      const nested = one.transaction(async () => {
        // The savepoint to roll back to no longer exists.
        await sql`rollback`.execute(one.kysely);
        throw no;
      });
      await expect(nested).rejects.toBe(no);
    });
    expect(await id()).not.toEqual(first);
    await one.close();
  });

  test("a statement that takes too long is canceled, and its connection continues", async () => {
    // Long enough for the other statements, even on a busy machine.
    const main = { ...own.configuration, statementTimeoutMs: 1000, poolSize: 1 };
    const hurried = new Database({ default: "main", main }, "/");
    const [{ id }] = (await sql<{ id: number }>`select connection_id() as id`.execute(hurried.kysely)).rows as [
      { id: number },
    ];
    const slow = sql`select sleep(60)`.execute(hurried.kysely);
    await expect(slow).rejects.toMatchObject({ code: "E_DATABASE_UNAVAILABLE", databaseCode: "1969" });
    expect((await sql`select connection_id() as id`.execute(hurried.kysely)).rows).toEqual([{ id }]);
    await hurried.close();
  });

  test("a migration's statements have no limit, and later ones have it again", async () => {
    const main = { ...own.configuration, statementTimeoutMs: 60_000, poolSize: 1 };
    const hurried = new Database({ default: "main", main }, "/");
    const limit = async () =>
      (await sql<{ s: string }>`select @@max_statement_time as s`.execute(hurried.kysely)).rows[0]!.s;
    const during = await hurried
      .connection()
      .maintenance.withMigrationLock(() => hurried.connection().maintenance.withMigrationLock(limit));
    expect([Number(during), Number(await limit())]).toEqual([0, 60]);
    await hurried.close();
  });

  test("a migration whose connection ends fails with its own error, and leaves the lock to others", async () => {
    const error = new Error("The migration failed.");
    const attempt = own.database.connection().maintenance.withMigrationLock(async () => {
      const [{ id }] = (await rowsOf("select connection_id() as id")) as [{ id: number }];
      await administerMariadb(`kill ${id}`);
      await expect(rowsOf("select 1")).rejects.toMatchObject({ code: "E_DATABASE_UNAVAILABLE" });
      throw error;
    });
    await expect(attempt).rejects.toBe(error);
    expect(await own.database.connection().maintenance.withMigrationLock(async () => "done")).toBe("done");
  });

  test("a process that waits too long for another's migrations names the connection that holds the lock", async () => {
    const { driver: _, ...options } = own.configuration;
    const settings = readMariadbSettings(options, { where: "main" });
    const impatient = new Connection(
      "main",
      (observer) => new MariadbDialect(settings, { where: "main", root: "/", observer }, { migrationTimeoutMs: 0 }),
    );
    await own.database.connection().maintenance.withMigrationLock(async () => {
      const [holder] = await rowsOf("select connection_id() as id");
      const message = new RegExp(
        `^Another process has been running migrations for more than 0 ms\\. It is the server's connection ${holder!.id} from .*kill ${holder!.id}$`,
      );
      await expect(impatient.maintenance.withMigrationLock(async () => {})).rejects.toMatchObject({
        code: "E_MIGRATION",
        message: expect.stringMatching(message),
      });
    });
    expect(await impatient.maintenance.withMigrationLock(async () => "done")).toBe("done");
    await impatient.close();
  });

  test("callers beyond maxWaiting are refused at once, and those in the queue get their turn", async () => {
    const main = { ...own.configuration, poolSize: 1, maxWaiting: 2 };
    const busy = new Database({ default: "main", main }, "/");
    const free = Promise.withResolvers<void>();
    const holding = busy.connection().reserved(() => free.promise);
    const ask = () => sql`select 1 as one`.execute(busy.kysely).then(({ rows }) => rows);
    const waiting = [ask(), ask()];
    await expect(ask()).rejects.toMatchObject({ code: "E_OVERLOADED", status: 503 });
    free.resolve();
    await holding;
    expect(await Promise.all(waiting)).toEqual([[{ one: 1 }], [{ one: 1 }]]);
    await busy.close();
  });

  test("after a deadlock, the victim's transaction refuses every statement and stores nothing", async () => {
    const { database } = own;
    const { kysely } = database;
    await kysely.schema
      .createTable("counts")
      .addColumn("id", "integer", (id) => id.primaryKey())
      .execute();
    await kysely
      .insertInto("counts")
      .values([{ id: 1 }, { id: 2 }])
      .execute();
    const lock = (id: number) => kysely.selectFrom("counts").selectAll().where("id", "=", id).forUpdate().execute();
    const isLocked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const crossing = (first: 1 | 2, second: 1 | 2) =>
      database.transaction(async () => {
        await lock(first);
        isLocked[first - 1]!.resolve();
        await isLocked[second - 1]!.promise;
        const failure = await failureOf(lock(second));
        const refusal = await failureOf(
          kysely
            .insertInto("counts")
            .values({ id: 10 * first })
            .execute(),
        );
        return [failure, refusal];
      });
    const outcomes = await Promise.allSettled([crossing(1, 2), crossing(2, 1)]);
    const victims = outcomes.flatMap((outcome, index) => (outcome.status === "rejected" ? [index] : []));
    expect(victims).toHaveLength(1);
    const survivor = victims[0] === 0 ? 2 : 1;
    expect(outcomes[survivor - 1]).toEqual({ status: "fulfilled", value: [null, null] });
    expect(outcomes[victims[0]!]).toMatchObject({ reason: { code: "E_DATABASE_CONFLICT", databaseCode: "1213" } });
    const ids = (await kysely.selectFrom("counts").select("id").orderBy("id").execute()).map(({ id }) => id);
    expect(ids).toEqual([1, 2, 10 * survivor]);
    await kysely.schema.dropTable("counts").execute();
  });

  test("a transaction that may be repeated survives a deadlock", async () => {
    const { database } = own;
    const { kysely } = database;
    await kysely.schema
      .createTable("totals")
      .addColumn("id", "integer", (id) => id.primaryKey())
      .addColumn("n", "integer")
      .execute();
    await kysely
      .insertInto("totals")
      .values([
        { id: 1, n: 0 },
        { id: 2, n: 0 },
      ])
      .execute();
    const add = (id: number) => kysely.updateTable("totals").set({ n: sql`n + 1` }).where("id", "=", id).execute();
    const hasBegun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    let attempts = 0;
    const crossing = (first: 1 | 2, second: 1 | 2) =>
      database.transaction(
        async () => {
          attempts++;
          await add(first);
          hasBegun[first - 1]!.resolve();
          await hasBegun[second - 1]!.promise;
          await add(second);
        },
        { retries: 5 },
      );
    await Promise.all([crossing(1, 2), crossing(2, 1)]);
    expect(attempts).toBe(3);
    expect(await kysely.selectFrom("totals").select("n").execute()).toEqual([{ n: 2 }, { n: 2 }]);
    await kysely.schema.dropTable("totals").execute();
  });

  test("an upsert never changes a row that only has the same value in another unique column", async () => {
    const { database } = own;
    const { kysely } = database;
    await kysely.schema
      .createTable("links")
      .addColumn("name", "varchar(20)", (column) => column.primaryKey())
      .addColumn("token", "varchar(20)", (column) => column.notNull().unique())
      .execute();
    await kysely.insertInto("links").values({ name: "ada", token: "one" }).execute();
    const write = database.connection().writes.upsert({
      table: "links",
      values: { name: "bob", token: "one" },
      key: ["name"],
      changes: { token: "stolen" },
      returning: ["name"],
    });
    await expect(write({})).rejects.toMatchObject({ code: "E_UNIQUE_VIOLATION", columns: ["token"] });
    expect(await kysely.selectFrom("links").selectAll().execute()).toEqual([{ name: "ada", token: "one" }]);
    await kysely.schema.dropTable("links").execute();
  });

  test("a migration that fails halfway lists the statements that were run, and is not recorded", async () => {
    const folder = new MigrationFolder(own.database, {
      "2026_01_01_000000_fail": `export async function up(database) {
        await database.schema.createTable("half").addColumn("n", "integer").execute();
        throw new TypeError("no luck");
      }`,
    });
    const message = /up\(\) failed, and what it did before that remains, .* It ran: create table "half" .*\. no luck$/;
    await expect(folder.migrations.up()).rejects.toMatchObject({
      code: "E_MIGRATION",
      message: expect.stringMatching(message),
    });
    expect(await folder.migrations.status()).toMatchObject([{ state: "pending" }]);
    folder.remove();
  });
});

/** MySQL returns no rows from inserts and deletions. MariaDB understands the statements that MySQL gets instead. */
await onMariadb("the writes for MySQL", () => {
  const titles = WRITES.map(({ title }) => title);
  const suite = dialectSuite(async (options) => {
    const { database, configuration, drop } = await mariadb.open({ ...options });
    await database.close();
    const { driver: _, ...settings } = configuration;
    const dialect: DialectSource = (setup) =>
      new MariadbDialect(readMariadbSettings(settings, setup), setup, { hasReturning: false });
    return { dialect, remove: drop };
  });
  for (const { title, run } of suite.filter((one) => titles.includes(one.title))) test(title, run);

  describe("an insert that returns its row", () => {
    test.each([
      ["finds a key that is given", { code: "a" }, [{ code: "a", n: 7 }]],
      ["says so if the database has chosen the key", {}, null],
    ])("%s", async (_, values, expected) => {
      const { configuration, drop } = await mariadb.open();
      const { driver: _driver, ...settings } = configuration;
      const database = new Database(
        {
          default: "main",
          main: (setup: DialectSetup) =>
            new MariadbDialect(readMariadbSettings(settings, setup), setup, { hasReturning: false }),
        },
        "/",
      );
      await database.kysely.schema
        .createTable("codes")
        .addColumn("code", "varchar(40)", (column) => column.primaryKey().defaultTo(sql`uuid()`))
        .addColumn("n", "integer", (column) => column.defaultTo(7))
        .execute();
      const insert = database.connection().writes.insert({ table: "codes", values, returning: "all" });
      if (expected === null) await expect(insert({})).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
      else expect(await insert({})).toEqual(expected);
      const { length } = await database.kysely.selectFrom("codes").selectAll().execute();
      expect(length).toBe(expected === null ? 0 : 1);
      await database.close();
      await drop();
    });
  });
});
