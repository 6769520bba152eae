import { setTimeout as sleep } from "node:timers/promises";
import type { Expression, ExpressionBuilder, SqlBool } from "kysely";
import type { Row } from "../dialect/executor.ts";
import type { QueryBuilder } from "../dialect/tables.ts";

/** How many rows one statement covers: few enough that nothing else waits noticeably for it. */
const BATCH_ROWS = 500;

/** The longest pause between two batches, in milliseconds. */
const LONGEST_PAUSE_MS = 1000;

/** A table to process, and its unique, indexed key column. */
export interface BatchTable {
  readonly kysely: QueryBuilder;
  readonly table: string;
  readonly key: string;
}

// biome-ignore lint/suspicious/noExplicitAny: only the table's name is known.
export type BatchCondition = (builder: ExpressionBuilder<any, any>) => Expression<SqlBool>;

/**
 * Yields the database and this process to others for as long as the last batch took, and at least for one turn of the
 * event loop: statements on SQLite don't yield one, however often they are awaited.
 *
 * @param begun when the batch began, in milliseconds of `performance.now()`
 * @param signal ends the pause
 */
export async function pauseAfterBatch(begun: number, signal?: AbortSignal): Promise<void> {
  const took = performance.now() - begun;
  await sleep(Math.min(LONGEST_PAUSE_MS, Math.ceil(took)), undefined, { signal }).catch(() => {});
}

/**
 * Deletes the rows that meet a condition in small batches, with a pause after each: no lock is held for long, and
 * other work gets at least as much time. This is not one transaction: rows that were deleted before an error stay
 * deleted.
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
    const begun = performance.now();
    const found = await kysely.selectFrom(table).select(key).where(condition).limit(BATCH_ROWS).execute();
    const keys = found.map((row) => row[key]);
    if (keys.length === 0) break;
    // Checked again: a row may have come into use in the meantime.
    const query = kysely.deleteFrom(table).where(key, "in", keys).where(condition);
    deleted += Number((await query.executeTakeFirst()).numDeletedRows);
    if (keys.length < BATCH_ROWS) break;
    await pauseAfterBatch(begun, signal);
  }
  return deleted;
}

/**
 * Reads all rows of a table in small batches, in the order of their keys.
 *
 * @param columns the columns to read in addition to the key
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
    const begun = performance.now();
    const all = kysely.selectFrom(table).select([key, ...columns]);
    const left = last === undefined ? all : all.where(key, ">", last);
    const rows = (await left.orderBy(key).limit(BATCH_ROWS).execute()) as Row[];
    if (rows.length > 0) await visit(rows);
    if (rows.length < BATCH_ROWS) break;
    last = rows.at(-1)![key];
    await pauseAfterBatch(begun, signal);
  }
}
