import { expect, onTestFinished, test } from "vitest";
import { Database, type Row, sql } from "../../database/index.ts";
import { copyingOf, describeDatabase } from "./described-database.ts";
import { rowBatches } from "./row-batches.ts";

/** Creates a SQLite table, and returns the batches in which it is read. */
async function tableOf(columns: string, rows: string) {
  const database = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");
  onTestFinished(() => database.close());
  await sql.raw(`create table t (${columns})`).execute(database.kysely);
  await sql.raw(`insert into t ${rows}`).execute(database.kysely);
  const connection = database.connection();
  const table = (await describeDatabase(connection, new Set())).tables.get("t")!;
  const statements: string[] = [];
  const read = async (): Promise<Row[][]> => {
    const end = connection.onQuery(({ sql: text }) => statements.push(text.replace(/\s+/g, " ").trim()));
    const batches: Row[][] = [];
    for await (const batch of rowBatches(connection, table)) batches.push(batch);
    end();
    return batches;
  };
  return { connection, read, statements };
}

/** Selects rows with the numbers from 1 on in a column n. */
const numbered = (count: number, columns: string) =>
  `with recursive c(n) as (select 1 union all select n + 1 from c where n < ${count}) select ${columns} from c`;
const sizes = (batches: readonly Row[][]) => batches.map(({ length }) => length);

test("after a few rows, batches have 500 rows, and the last one has the rest", async () => {
  const { read, statements } = await tableOf("id integer primary key, text", numbered(1100, "n * 3, 'a'"));
  const batches = await read();
  expect(sizes(batches)).toEqual([20, 500, 500, 80]);
  expect(batches.flat().map(({ id }) => id)).toEqual(Array.from({ length: 1100 }, (_, n) => 3 * (n + 1)));
  expect(statements[1]).toBe('select "id", "text" from "t" where ("id") > (?) order by "id" limit 500');
});

test("a table whose rows fill the last batch exactly gets no empty one", async () => {
  const { read, statements } = await tableOf("id integer primary key", numbered(20, "n"));
  expect([sizes(await read()), statements.length]).toEqual([[20], 2]);
  const empty = await tableOf("id integer primary key", "select 1 where 1 = 0");
  expect([sizes(await empty.read()), empty.statements.length]).toEqual([[], 1]);
});

test.each([
  ["text", "hex(zeroblob(524288))"],
  ["bytes", "zeroblob(1048576)"],
])("rows with a million bytes of %s come four at a time, and larger ones one by one", async (_, value) => {
  const { read } = await tableOf("id integer primary key, value", numbered(30, `n, ${value}`));
  expect(sizes(await read())).toEqual([20, 3, 3, 3, 1]);
  const larger = await tableOf(
    "id integer primary key, value",
    numbered(22, `n, ${value} || ${value} || ${value} || ${value} || ${value}`),
  );
  expect(sizes(await larger.read())).toEqual([20, 1, 1]);
});

test("a table with many columns is read in batches with no more values than a statement allows", async () => {
  const columns = Array.from({ length: 100 }, (_, n) => `c${n} integer`);
  const { read } = await tableOf(`id integer primary key, ${columns}`, `(id) ${numbered(300, "n")}`);
  expect(sizes(await read())).toEqual([20, 198, 82]);
});

test("a key of several columns is read in its own order", async () => {
  const { read } = await tableOf("a integer, b text, c integer, primary key (c, a)", numbered(60, "n % 2, n, n / 2"));
  const keys = (await read()).flat().map(({ c, a }) => [c, a]);
  expect(keys).toEqual(Array.from({ length: 60 }, (_, n) => [Math.floor((n + 1) / 2), (n + 1) % 2]));
});

test("a table without a key is read in its database's own row order", async () => {
  const { read, statements } = await tableOf("n integer", numbered(30, "1"));
  const rows = (await read()).flat();
  expect(rows).toHaveLength(30);
  expect(statements[1]).toContain("where (rowid) > (?) order by rowid limit");
});

test("if there is no such order, equal rows are all read", async () => {
  const { connection, read, statements } = await tableOf("a integer, b integer", numbered(90, "n % 2, null"));
  Object.assign(connection.dialect, { copying: { ...copyingOf(connection), rowOrder: null } });
  expect((await read()).flat().reduce((sum, { a }) => sum + Number(a), 0)).toBe(45);
  expect(statements[1]).toContain('order by "a", "b" limit 500 offset 20');
});

test("a key that is null in a row is passed by counting rows", async () => {
  const { read, statements } = await tableOf("a text primary key", numbered(30, "case when n > 22 then n end"));
  expect((await read()).flat().map(({ a }) => a)).toEqual([
    ...Array(22).fill(null),
    ...Array.from({ length: 8 }, (_, n) => `${n + 23}`),
  ]);
  expect(statements[1]).toContain("offset 20");
});
