import { setImmediate as nextTurn } from "node:timers/promises";
import type { Expression, ExpressionBuilder, SqlBool } from "kysely";
import type { Row } from "./dialect.ts";
import type { QueryBuilder } from "./tables.ts";

/** How many rows one statement is about: few enough that nothing else waits noticeably for it. */
const BATCH_ROWS = 500;

/** A table to be gone through, and the column, unique and indexed, that tells its rows apart. */
export interface BatchTable {
  readonly kysely: QueryBuilder;
  readonly table: string;
  readonly key: string;
}

// biome-ignore lint/suspicious/noExplicitAny: the table is known by name only.
export type BatchCondition = (builder: ExpressionBuilder<any, any>) => Expression<SqlBool>;

/**
 * Deletes the rows that meet a condition, a few at a time: no lock is held for long, and everything else gets its turn in
 * between. Not one transaction: what was deleted before an error stays deleted.
 *
 * @param signal stops it after the batch at hand
 * @returns how many there were
 */
export async function deleteInBatches(
  { kysely, table, key }: BatchTable,
  condition: BatchCondition,
  signal?: AbortSignal,
): Promise<number> {
  let deleted = 0;
  while (signal?.aborted !== true) {
    const found = await kysely.selectFrom(table).select(key).where(condition).limit(BATCH_ROWS).execute();
    const keys = found.map((row) => row[key]);
    if (keys.length === 0) break;
    // Asked again: a row can have been put to use since.
    const query = kysely.deleteFrom(table).where(key, "in", keys).where(condition);
    deleted += Number((await query.executeTakeFirst()).numDeletedRows);
    if (keys.length < BATCH_ROWS) break;
    await nextTurn();
  }
  return deleted;
}

/**
 * Reads all rows of a table, a few at a time, in the order of their keys.
 *
 * @param columns what is read besides the key
 * @param visit is handed each batch, and may delete its rows
 * @param signal stops it after the batch at hand
 */
export async function visitInBatches(
  { kysely, table, key }: BatchTable,
  columns: readonly string[],
  visit: (rows: readonly Row[]) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  let last: unknown;
  while (signal?.aborted !== true) {
    const all = kysely.selectFrom(table).select([key, ...columns]);
    const left = last === undefined ? all : all.where(key, ">", last);
    const rows = (await left.orderBy(key).limit(BATCH_ROWS).execute()) as Row[];
    if (rows.length > 0) await visit(rows);
    if (rows.length < BATCH_ROWS) break;
    last = rows.at(-1)![key];
    await nextTurn();
  }
}
