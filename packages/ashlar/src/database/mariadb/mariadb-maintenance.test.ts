import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { mariadb, onMariadb, type TestDatabase } from "../../../test/support/services.ts";
import { Connection } from "../connections/connection.ts";
import { sql } from "../index.ts";
import { looseTextColumnsOf, plainTablesOf, uniqueColumnNamesOf } from "../migrations/table-columns.ts";
import { MariadbDialect } from "./mariadb-dialect.ts";
import { readMariadbSettings } from "./mariadb-settings.ts";

await onMariadb("the maintenance of MariaDB", () => {
  let own: TestDatabase;
  beforeEach(async () => {
    own = await mariadb.open({ poolSize: 1 });
  });
  afterEach(() => own.drop());

  const run = async (text: string, { database } = own): Promise<Record<string, unknown>[]> =>
    (await sql.raw<Record<string, unknown>>(text).execute(database.kysely)).rows;
  const another = async (): Promise<TestDatabase> => {
    const other = await mariadb.open();
    onTestFinished(() => other.drop());
    return other;
  };

  test.each([
    ["emptying", (connection: Connection) => connection.maintenance.emptyTables([])],
    ["dropping", (connection: Connection) => connection.maintenance.dropEverything()],
  ])("foreign keys are checked again after %s tables, even if that fails", async (_, change) => {
    await run("create table parents (id integer primary key)");
    await run("create table children (parent_id integer, foreign key (parent_id) references parents (id))");
    const connection = own.database.connection();
    const checks = async () => (await run("select @@session.foreign_key_checks as checks"))[0]!.checks;
    // Both fail in a read-only transaction.
    await run("set session transaction read only");
    await expect(change(connection)).rejects.toMatchObject({ databaseCode: "1792" });
    expect(await checks()).toBe(1);
    await run("set session transaction read write");
    await change(connection);
    expect(await checks()).toBe(1);
  });

  test("tables with any name are emptied and dropped, and neither views nor sequences are emptied", async () => {
    await run('create table "o""d""d" (id integer auto_increment primary key)');
    await run("create table kept (id integer auto_increment primary key)");
    await run("create view shown as select * from kept");
    await run("create sequence numbers");
    for (const table of ['"o""d""d"', "kept"]) await run(`insert into ${table} () values (), ()`);
    await run("select next value for numbers");
    await own.database.connection().maintenance.emptyTables(["kept"]);
    expect(await run('select * from "o""d""d"')).toEqual([]);
    await run('insert into "o""d""d" () values ()');
    await run("insert into kept () values ()");
    expect(await run('select * from "o""d""d"')).toEqual([{ id: 1 }]);
    expect(await run("select * from shown order by id")).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    expect(await run("select next value for numbers as n")).toEqual([{ n: 2 }]);
    await own.database.connection().maintenance.dropEverything();
    expect(await run("show tables")).toEqual([]);
  });

  test("tables of another database of the server are left alone, whatever their names", async () => {
    const other = await another();
    for (const one of [own, other]) {
      await run("create table notes (n integer)", one);
      await run("insert into notes values (1)", one);
    }
    await run("create table only_there (n integer)", other);
    await own.database.connection().maintenance.emptyTables([]);
    await own.database.connection().maintenance.dropEverything();
    expect(await run("select * from notes", other)).toEqual([{ n: 1 }]);
  });

  test("unique, loose and plain columns are recognized only in their own database", async () => {
    const other = await another();
    const columns = "a varchar(20), b varchar(20), c varchar(20), d varchar(20)";
    const unique = "unique (a), unique (b, c), unique (d(5)), index (c)";
    await run(`create table notes (${columns}, ${unique}) character set utf8mb4 collate utf8mb4_nopad_bin`);
    await run(`create table others (${columns}, unique (c))`);
    await run(`create table notes (${columns}, unique (b)) engine=MyISAM collate utf8mb4_general_ci`, other);
    await run("create table hits (n integer) engine=MyISAM", other);
    const [here, there] = [own.database.connection(), other.database.connection()];
    expect([...(await uniqueColumnNamesOf(here, "notes"))!]).toEqual(["a"]);
    expect(await looseTextColumnsOf(here, "notes")).toEqual([]);
    expect(await plainTablesOf(here)).toEqual([]);
    expect([...(await uniqueColumnNamesOf(there, "notes"))!]).toEqual(["b"]);
    expect((await looseTextColumnsOf(there, "notes")).toSorted()).toEqual(["a", "b", "c", "d"]);
    expect(await plainTablesOf(there)).toEqual(["hits", "notes"]);
    for (const table of ["notes", "hits"]) await run(there.dialect.inspection!.plainTables!.mend(table), other);
    await run(there.dialect.inspection!.looseText!.mend("notes"), other);
    expect([await looseTextColumnsOf(there, "notes"), await plainTablesOf(there)]).toEqual([[], []]);
  });

  /** A connection that doesn't wait for another process's migrations. */
  const impatient = ({ configuration }: TestDatabase): Connection => {
    const { driver: _, ...options } = configuration;
    const settings = readMariadbSettings({ ...options, statementTimeoutMs: 60_000 }, { where: "main" });
    const connection = new Connection(
      "main",
      (observer) => new MariadbDialect(settings, { where: "main", root: "/", observer }, { migrationTimeoutMs: 0 }),
    );
    onTestFinished(() => connection.close());
    return connection;
  };

  test("migrations wait for those of the same database, until the last of them has ended", async () => {
    const other = await another();
    const [first, second, elsewhere] = [impatient(own), impatient(own), impatient(other)];
    const none = async (): Promise<void> => {};
    await first.maintenance.withMigrationLock(async () => {
      await first.maintenance.withMigrationLock(none);
      await expect(second.maintenance.withMigrationLock(none)).rejects.toMatchObject({ code: "E_MIGRATION" });
      await elsewhere.maintenance.withMigrationLock(none);
      const [row] = await first.rows("select @@max_statement_time as s", []);
      expect(Number(row!.s)).toBe(0);
    });
    await second.maintenance.withMigrationLock(none);
  });
});
