import type { CompiledQuery, QueryResult } from "kysely";
import type { AshlarError, MaybePromise } from "../../support/index.ts";

/** A value that a column can be compared with. */
export type ColumnValue = string | number | bigint | boolean | Date | Uint8Array | null;

/** A row as returned by the database. */
export type Row = { [column: string]: unknown };

/** Runs statements. Errors are those that `ashlar/database` exports, on every dialect. */
export interface Executor {
  /** Runs a compiled statement. */
  execute(query: CompiledQuery): MaybePromise<QueryResult<Row>>;
  /** Runs a statement with one parameter and returns the first row: what `find` uses, so keep it short. */
  first(sql: string, value: ColumnValue): MaybePromise<Row | undefined>;
}

/** A connection to the database, while one caller has it to itself. */
export interface PhysicalConnection extends Executor {
  /**
   * The error of the latest statement that the database refused. The framework resets it when a transaction begins and
   * ends.
   */
  failure: AshlarError | null;
}
