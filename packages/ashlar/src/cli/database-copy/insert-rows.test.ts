import { expect, onTestFinished, test } from "vitest";
import { Database, type Row, sql } from "../../database/index.ts";
import { describeDatabase } from "./described-database.ts";
import { insertRows } from "./insert-rows.ts";

/** Inserts rows into a SQLite table, and returns how many rows it then has, or the error. */
async function inserting(columns: string, given: readonly Row[], type?: string) {
  const database = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");
  onTestFinished(() => database.close());
  await sql.raw(`create table t (${columns})`).execute(database.kysely);
  const target = database.connection();
  const from = (await describeDatabase(target, new Set())).tables.get("t")!;
  const to = {
    ...from,
    columns: from.columns.map((one) => (one.name === "n" ? { ...one, type: type ?? one.type } : one)),
  };
  const inserted = insertRows(given, { target, from, to, parsesJson: false, before: 40 });
  const error = await inserted.then(
    () => null,
    ({ code, message }: Error & { code: string }) => `${code} ${message}`,
  );
  const { rows } = await sql<Row>`select * from t`.execute(database.kysely);
  return error ?? rows;
}

const END = "Nothing was copied. Correct the row, and copy again.";

test("rows are inserted with the columns that the target has, whatever their order", async () => {
  expect(
    await inserting("id integer primary key, n integer", [
      { n: 1, id: 7 },
      { id: 8, n: 2 },
    ]),
  ).toEqual([
    { id: 7, n: 1 },
    { id: 8, n: 2 },
  ]);
});

test.each([
  ["its key, if that is a number", "id integer primary key", 2, "the row with id 2"],
  ["its key, if that is a large number", "id integer primary key", 2n ** 60n, `the row with id ${2n ** 60n}`],
  ["its place, if its key is a text", "id text primary key", "a secret", "row 42 in the order of its key"],
  ["its place, if it has no key", "id integer", 2, "row 42 in the order of its key"],
  [
    "its place, if its key has several columns",
    "id integer, m, primary key (id, m)",
    2,
    "row 42 in the order of its key",
  ],
])("a row that is refused is named by %s", async (_, columns, id, place) => {
  const [key, ...constraints] = columns.split(", primary");
  const table = [key, "n integer check (n < 5)", ...constraints.map((one) => `primary${one}`)].join();
  const row = (values: Row): Row => ({ m: 0, ...values });
  const rows = [row({ id: 1, n: 1 }), row({ id, n: 9 }), row({ id: 3, n: 9 })];
  const ofServer = await inserting(table, rows);
  expect(ofServer).toMatch(new RegExp(`^E_COMMAND The table "t", ${place}: "main" refuses it\\. .*CHECK.*\\. ${END}$`));
  const unfit = [row({ id: 1, n: 1 }), row({ id, n: "x" })];
  expect(await inserting(table, unfit, "integer")).toBe(
    `E_COMMAND The table "t", ${place}: the column "n" has a value that is not a whole number. ${END}`,
  );
});

test("a problem with the whole database is reported as such, not as a row's fault", async () => {
  const database = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");
  onTestFinished(() => database.close());
  await sql`create table t (id integer primary key)`.execute(database.kysely);
  const target = database.connection();
  const table = (await describeDatabase(target, new Set())).tables.get("t")!;
  const statements: string[] = [];
  target.onQuery(({ sql: text }) => statements.push(text));
  const inserted = target.transaction(async () => {
    await sql`pragma query_only = on`.execute(database.kysely);
    await insertRows([{ id: 1 }], { target, from: table, to: table, parsesJson: false, before: 0 });
  });
  await expect(inserted).rejects.toMatchObject({ code: "E_DATABASE_READ_ONLY" });
  expect(statements.filter((text) => text.startsWith("insert"))).toHaveLength(1);
});
