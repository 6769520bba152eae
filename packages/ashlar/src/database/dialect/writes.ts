import { type AliasedExpression, type Expression, type SqlBool, sql } from "kysely";
import type { MaybePromise } from "../../support/index.ts";
import type { ColumnValue, Executor, Row } from "./executor.ts";
import type { QueryBuilder } from "./tables.ts";

/** Values by column: plain values, SQL expressions or parameters. */
export type WrittenValues = Readonly<Record<string, unknown>>;

/** The columns that a write returns: some columns, expressions with an alias, or every column. */
export type Returned = "all" | readonly (string | AliasedExpression<unknown, string>)[];

/** An insert of one row. */
export interface InsertQuery {
  readonly table: string;
  /** The row's values. Columns that are left out get their defaults; the object may be empty. */
  readonly values: WrittenValues;
  /**
   * Nothing is stored unless this holds. It may lock the rows it reads (`lockRows`), so that it still holds when the
   * transaction ends.
   */
  readonly onlyIf?: Expression<SqlBool>;
  /** The returned columns of the stored row; an empty list for none. */
  readonly returning: Returned;
}

/** An insert of one row or, if a row with the same key exists, an update of that row. */
export interface UpsertQuery extends InsertQuery {
  /** The columns of the key: the primary key or a unique index. */
  readonly key: readonly string[];
  /** The changes to an existing row. Expressions refer to the row before the change, as `table.column`. */
  readonly changes: WrittenValues;
  /** An existing row is not changed, and not returned, unless this holds for it. */
  readonly changeIf?: Expression<SqlBool>;
}

/** An upsert of several rows with different keys. */
export interface UpsertRowsQuery {
  readonly table: string;
  /** The rows' values, each with the same columns. */
  readonly rows: readonly WrittenValues[];
  /** The columns of the key: the primary key or a unique index. */
  readonly key: readonly string[];
  /**
   * The changes to an existing row. Expressions refer to the row before the change, as `table.column`.
   *
   * @param incoming an expression for the value that a column of the row would have been stored with
   */
  changes(incoming: (column: string) => Expression<unknown>): WrittenValues;
  /** The returned columns of each stored row, in no particular order. */
  readonly returning: Returned;
}

/** A deletion of rows. */
export interface DeleteQuery {
  readonly table: string;
  readonly where: Expression<SqlBool>;
  /** The maximum number of rows to delete, in no particular order; default: all. */
  readonly limit?: number;
  /** A unique column of the table. */
  readonly key: string;
  /** The returned columns of the deleted rows. */
  readonly returning: Returned;
}

/**
 * A prepared write, with the values of its parameters.
 *
 * @returns one row for each row that it stored, changed or deleted
 */
export type Write = (
  scope: {
    /** Runs one statement, in the caller's transaction if there is one. */
    execute: Executor["execute"];
    /** Runs a function in a transaction, which is nested if the caller is in one. */
    transaction<T>(task: () => MaybePromise<T>): Promise<T>;
  },
  values: Readonly<Record<string, ColumnValue>>,
) => MaybePromise<Row[]>;

/** The scope in which a write runs. */
export type WriteScope = Parameters<Write>[0];

/**
 * Writes that return rows, or that depend on stored values. The framework uses them where concurrent requests
 * compete, for example for the last attempt of a limit.
 *
 * Each write is **atomic**. Of concurrent writes, in any number of processes, each sees the complete result of the one
 * before it. A write that throws has changed nothing.
 *
 * `returningWrites` implements them for databases with `returning` and `on conflict`, with one statement each. For other
 * databases, a write can be several statements in a transaction that locks the row first (`select … for update`).
 *
 * A method is called once for many runs, so compile statements in it, with `queryTemplate`.
 */
export interface Writes {
  /** Prepares an insert. It throws `UniqueViolationError` if a row with the same unique value exists. */
  insert(kysely: QueryBuilder, query: InsertQuery): Write;
  /** Prepares an upsert. It never fails because of a row with the same key, even if that is inserted concurrently. */
  upsert(kysely: QueryBuilder, query: UpsertQuery): Write;
  /**
   * Prepares an upsert of several rows. Each row is atomic; if the write throws, some rows may be stored. Concurrent
   * upserts that list their rows in the order of the key don't deadlock. Leave it out if one statement can't do it: the
   * rows are then upserted one by one.
   */
  upsertRows?(kysely: QueryBuilder, query: UpsertRowsQuery): Write;
  /** Prepares a deletion. Of concurrent deletions of a row, one returns it. */
  delete(kysely: QueryBuilder, query: DeleteQuery): Write;
}

/** An upsert of several rows, one by one. */
export function upsertEach(
  upsert: Writes["upsert"],
  kysely: QueryBuilder,
  { table, rows, key, changes, returning }: UpsertRowsQuery,
): Write {
  const each = rows.map((values) => {
    const incoming = (column: string) => sql`${values[column]}`;
    return upsert(kysely, { table, values, key, changes: changes(incoming), returning });
  });
  return async (scope, given) => {
    const stored: Row[] = [];
    for (const write of each) stored.push(...(await write(scope, given)));
    return stored;
  };
}
