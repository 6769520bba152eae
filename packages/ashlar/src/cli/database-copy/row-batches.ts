import { type Connection, type Row, sql } from "../../database/index.ts";
import { copyingOf, type DescribedTable } from "./described-database.ts";

/** The size of a batch in rows, and approximately in bytes, because rows that contain files are large. */
const ROWS = 500;
const BYTES = 4 * 1024 * 1024;
/** Databases limit the number of values in a statement: SQLite to 32,766, the other databases' protocols to 65,535. */
const VALUES = 20_000;

/** The alias of the expression that orders rows without a primary key. */
const ORDER = "__order";

/**
 * Reads all rows of a table in batches, in the order of the primary key. In a transaction with a stable snapshot, no
 * row is left out or read twice.
 */
export async function* rowBatches(connection: Connection, table: DescribedTable): AsyncGenerator<Row[]> {
  const keys = table.columns.filter(({ place }) => place > 0).sort((a, b) => a.place - b.place);
  const { rowOrder } = copyingOf(connection);
  const columns = table.columns.map(({ name }) => sql`${sql.id(name)}`);
  let order = keys.map(({ name }) => ({ name, term: sql`${sql.id(name)}` }));
  if (order.length === 0 && rowOrder !== null) {
    order = [{ name: ORDER, term: sql.raw(rowOrder) as (typeof order)[number]["term"] }];
    columns.push(sql`${sql.raw(rowOrder)} as ${sql.id(ORDER)}`);
  }
  // If rows are equal in every column, their order doesn't matter.
  if (order.length === 0) order = table.columns.map(({ name }) => ({ name, term: sql`${sql.id(name)}` }));
  const isKey = keys.length > 0 || rowOrder !== null;
  const orderBy = sql.join(order.map(({ term }) => term));
  const page = async (last: Row | null, read: number, count: number): Promise<Row[]> => {
    const values = last === null ? null : order.map(({ name }) => last[name]);
    // A time may be more precise in the database than in JavaScript, and no value is greater than null.
    const canSeek = isKey && values?.every((value) => value !== null && !(value instanceof Date)) === true;
    const after = canSeek ? sql`where (${orderBy}) > (${sql.join(values ?? [])})` : sql``;
    const skipped = values === null || canSeek ? sql`` : sql`offset ${sql.lit(read)}`;
    const rows = sql<Row>`select ${sql.join(columns)} from ${sql.id(table.name)} ${after}
      order by ${orderBy} limit ${sql.lit(count)} ${skipped}`;
    return (await rows.execute(connection.kysely)).rows;
  };
  let last: Row | null = null;
  let read = 0;
  let count = Math.min(20, limitOf(table));
  for (;;) {
    const rows: Row[] = await page(last, read, count);
    if (rows.length > 0) yield rows;
    if (rows.length < count) return;
    last = rows.at(-1)!;
    read += rows.length;
    const bytes = rows.reduce((sum, row) => sum + bytesOf(row), 0) / rows.length;
    count = Math.max(1, Math.min(limitOf(table), Math.floor(BYTES / bytes)));
  }
}

function limitOf({ columns }: DescribedTable): number {
  return Math.max(1, Math.min(ROWS, Math.floor(VALUES / columns.length)));
}

function bytesOf(row: Row): number {
  let bytes = 1;
  for (const column in row) {
    const value = row[column];
    if (typeof value === "string" || value instanceof Uint8Array) bytes += value.length;
    else bytes += 16;
  }
  return bytes;
}
