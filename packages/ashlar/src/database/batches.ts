import { setImmediate as nextTurn } from "node:timers/promises";
import type { Expression, ExpressionBuilder, SqlBool } from "kysely";
import type { Row } from "./dialect.ts";
import type { QueryBuilder } from "./tables.ts";

/** How many rows one statement covers: few enough that nothing else waits noticeably for it. */
const BATCH_ROWS = 500;

/** A table to process, and its unique, indexed key column. */
export interface BatchTable {
  readonly kysely: QueryBuilder;
  readonly table: string;
  readonly key: string;
}

// biome-ignore lint/suspicious/noExplicitAny: only the table's name is known.
export type BatchCondition = (builder: ExpressionBuilder<any, any>) => Expression<SqlBool>;

/**
 * Deletes the rows that meet a condition in small batches: no lock is held for long, and other work gets its turn in
 * between. This is not one transaction: what was deleted before an error stays deleted.
 *
 * @param signal stops it after the current batch
 * @returns how many rows were deleted
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
    // Checked again: a row may have come into use in the meantime.
    const query = kysely.deleteFrom(table).where(key, "in", keys).where(condition);
    deleted += Number((await query.executeTakeFirst()).numDeletedRows);
    if (keys.length < BATCH_ROWS) break;
    await nextTurn();
  }
  return deleted;
}

/**
 * Reads all rows of a table in small batches, in the order of their keys.
 *
 * @param columns what is read in addition to the key
 * @param visit receives each batch, and may delete its rows
 * @param signal stops it after the current batch
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
