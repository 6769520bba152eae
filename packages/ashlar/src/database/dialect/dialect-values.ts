import type {
  ColumnDataType,
  ColumnDefinitionBuilder,
  DatabaseIntrospector,
  DialectAdapter,
  Expression,
  Kysely,
  QueryCompiler,
} from "kysely";

/** How a database writes SQL, and what its values look like. */
export interface DialectValues {
  /** Whether the driver returns JSON columns parsed. */
  readonly parsesJson: boolean;
  /**
   * The server's time in whole milliseconds since 1970, the same throughout a statement; `null` if the database runs in
   * this process and so shares its clock.
   */
  readonly serverTime: Expression<number> | null;
  /**
   * Whether an index serves `order by` only if the order also names the columns before it that `is null` fixes. PostgreSQL
   * takes `is null` for a range and sorts all rows otherwise.
   */
  readonly ordersByNulls: boolean;
  /** Declarations of columns that differ between databases. */
  readonly columnTypes: {
    /** Keys count up and are never reused, not even after a rollback or a deletion. */
    readonly primaryKey: {
      readonly type: ColumnDataType | Expression<unknown>;
      readonly define: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder;
    };
    /** The type of a column that refers to a primary key. */
    readonly reference: ColumnDataType | Expression<unknown>;
    readonly timestamp: ColumnDataType | Expression<unknown>;
    readonly json: ColumnDataType | Expression<unknown>;
    /** The type of a column for text of any length; `text` holds only 65,535 bytes on some databases. */
    readonly longText: ColumnDataType | Expression<unknown>;
    /** The current time, as the default of a timestamp column. */
    readonly now: Expression<unknown>;
  };
  /** Kysely's adapter. */
  readonly adapter: DialectAdapter;
  /** Turns the queries of Kysely's builders into SQL. */
  readonly compiler: QueryCompiler;
  introspector(kysely: Kysely<unknown>): DatabaseIntrospector;
}

/** Declarations of columns that differ between databases. */
export type ColumnTypes = DialectValues["columnTypes"];
