import { sql } from "kysely";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { onPostgres, postgres } from "../../../test/support/services.ts";
import { Database } from "../connections/database.ts";
import { Model } from "../models/model.ts";
import { hasTable, tableHasColumn, uniqueColumnNamesOf } from "./table-columns.ts";

class Note extends Model {
  static override timestamps = false;
  declare id: number;
}
class Memo extends Model {
  static override timestamps = false;
  declare id: number;
}

let database: Database;
let asked: number;

beforeEach(async () => {
  database = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");
  const { schema } = database.kysely;
  await schema.createTable("notes").addColumn("id", "integer").addColumn("text", "text").execute();
  await schema.createTable("memos").addColumn("id", "integer").addColumn("title", "text").execute();
  Note.useDatabase(database);
  Memo.useDatabase(database);
  asked = 0;
  database.onQuery(() => asked++);
});
afterEach(async () => {
  Note.leaveDatabase(database);
  Memo.leaveDatabase(database);
  await database.close();
});

test("a column counts if the model's own table has it", async () => {
  expect([await tableHasColumn(Note, "text"), await tableHasColumn(Note, "title")]).toEqual([true, false]);
  expect([await tableHasColumn(Memo, "text"), await tableHasColumn(Memo, "title")]).toEqual([false, true]);
});

test("the table is queried once for all of its columns, even by two concurrent callers", async () => {
  await tableHasColumn(Note, "text");
  const once = asked;
  expect(once).toBeGreaterThan(0);
  await Promise.all(["text", "title", "id"].map((column) => tableHasColumn(Note, column)));
  expect(asked).toBe(once);
  await Promise.all(["text", "title"].map((column) => tableHasColumn(Memo, column)));
  expect(asked).toBe(2 * once);
});

test("a column that appeared in a row is known without a query", async () => {
  await database.kysely.insertInto("notes").values({ id: 1, text: "a" }).execute();
  await Note.find(1);
  asked = 0;
  expect([await tableHasColumn(Note, "text"), asked]).toEqual([true, 0]);
});

test("if the query fails, the next caller tries again", async () => {
  const gone = new Database({ default: "main", main: { driver: "sqlite", path: "/dev/null/x" } }, "/");
  Note.useDatabase(gone);
  const attempt = async (): Promise<unknown> => await tableHasColumn(Note, "text").catch((error: unknown) => error);
  const [first, second] = [await attempt(), await attempt()];
  expect(first).toMatchObject({ code: "E_DATABASE" });
  expect(second).toMatchObject({ code: "E_DATABASE" });
  expect(second).not.toBe(first);
  Note.leaveDatabase(gone);
  await gone.close();
});

test("a table is not looked up again once it was found, but a missing one is", async () => {
  expect([await hasTable(database, "notes"), await hasTable(database, "orders")]).toEqual([true, false]);
  await database.kysely.schema.createTable("orders").addColumn("id", "integer").execute();
  expect(await hasTable(database, "orders")).toBe(true);
  asked = 0;
  expect([await hasTable(database, "orders"), await hasTable(database, "notes"), asked]).toEqual([true, true, 0]);
  const other = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");
  expect(await hasTable(other, "notes")).toBe(false);
  await other.close();
});

test("a view is found, and so is a table whose name is in capitals", async () => {
  await sql.raw("create view titles as select title from memos").execute(database.kysely);
  await sql.raw('create table "Orders" (id integer)').execute(database.kysely);
  expect([await hasTable(database, "titles"), await hasTable(database, "Orders")]).toEqual([true, true]);
});

test("a column isn't unique if its unique index leaves rows out", async () => {
  const { schema } = database.kysely;
  await schema.createIndex("texts").on("notes").column("text").unique().execute();
  await schema.createIndex("titles").on("memos").column("title").unique().where("title", "<>", "").execute();
  const unique = (table: string) => uniqueColumnNamesOf(database.connection(), table);
  expect([await unique("notes"), await unique("memos")]).toEqual([new Set(["text"]), new Set()]);
});

await onPostgres("schemas of PostgreSQL", () => {
  /** A database in which statements have been run. */
  async function databaseAfter(...statements: readonly string[]): Promise<Database> {
    const { database: own, drop } = await postgres.open();
    onTestFinished(() => drop());
    for (const text of statements) await sql.raw(text).execute(own.kysely);
    return own;
  }

  test("a table exists if a statement finds it, by the search_path or by the name of its schema", async () => {
    const own = await databaseAfter(
      'create schema "other Shop"',
      'create table "other Shop".notes (id integer)',
      "create schema other",
      "create table other.memos (id integer)",
      'create table "Orders" (id integer)',
    );
    const found = async (...names: string[]) => {
      return await Promise.all(names.map((name) => hasTable(own, name)));
    };
    expect(await found("notes", "memos", "other.memos", "Orders", "orders")).toEqual([false, false, true, true, false]);
    await own.transaction(async () => {
      await sql.raw('set local search_path = "$user", "other Shop", public').execute(own.kysely);
      expect(await found("notes", "memos")).toEqual([true, false]);
    });
  });

  test("the columns are those of the table that a statement finds, as they are now", async () => {
    const own = await databaseAfter(
      "create schema other",
      "create table other.notes (id integer, title text)",
      "create table notes (id integer, author text, text text)",
      "alter table notes drop column author",
    );
    Note.useDatabase(own);
    onTestFinished(() => Note.leaveDatabase(own));
    const columns = ["id", "text", "title", "author", "ctid"];
    const found = await Promise.all(columns.map((column) => tableHasColumn(Note, column)));
    expect(found).toEqual([true, true, false, false, false]);
  });
});
