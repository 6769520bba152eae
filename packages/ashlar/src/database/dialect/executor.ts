import type { CompiledQuery, QueryResult } from "kysely";
import type { AshlarError, MaybePromise } from "../../support/index.ts";

/** A value that a column can be compared with. */
export type ColumnValue = string | number | bigint | boolean | Date | Uint8Array | null;

/** A row as returned by the database. */
export type Row = { [column: string]: unknown };

/** Runs statements. Every dialect throws the errors that `ashlar/database` exports. */
export interface Executor {
  /** Runs a compiled statement. */
  execute(query: CompiledQuery): MaybePromise<QueryResult<Row>>;
  /** Runs a statement with one parameter and returns the first row: `find` uses it, so keep it short. */
  first(sql: string, value: ColumnValue): MaybePromise<Row | undefined>;
}

/** A connection to the database that one caller has exclusively. */
export interface PhysicalConnection extends Executor {
  /**
   * The error of the latest statement that the database refused. The framework resets it when a transaction begins and
   * ends.
   */
  failure: AshlarError | null;
}
