import type { DialectMaintenance } from "./dialect-maintenance.ts";

/** The effect of a migration's statement on a table that the running version of the application uses. */
export interface SchemaChange {
  /**
   * - `addColumn`, `dropColumn`, `renameColumn`; `changeType`: another definition of a column; `setNotNull`.
   * - `addUnique`, `addPrimaryKey`, `addForeignKey`, `addCheck`: constraints; `dropConstraint`; `validate`: checks the
   *   rows for a constraint that was added as `not valid`.
   * - `createIndex`, whether by a separate statement or by `alter table`.
   * - `dropTable`, `renameTable`; `rebuildTable`: another table takes its place and its name.
   * - `rewriteTable`: another engine or character set.
   * - `writeRows`: an `update` or `delete` of all rows.
   * - `alterTable`: any other change by `alter table`.
   */
  readonly kind:
    | "addColumn"
    | "dropColumn"
    | "renameColumn"
    | "changeType"
    | "setNotNull"
    | "addUnique"
    | "addPrimaryKey"
    | "addForeignKey"
    | "addCheck"
    | "dropConstraint"
    | "validate"
    | "createIndex"
    | "dropTable"
    | "renameTable"
    | "rebuildTable"
    | "rewriteTable"
    | "writeRows"
    | "alterTable";
  /** The table's name, without its schema. */
  readonly table: string;
  /** The column or the constraint; `null` if the change isn't about one, or about several. */
  readonly name: string | null;
  /** Its new name, or the table's; `null` if nothing is renamed. */
  readonly newName: string | null;
  /** The columns of an index or a constraint, if they are given by name. */
  readonly columns: readonly string[];
  /** The statement, or one of its several changes. */
  readonly sql: string;
  /**
   * The SQL of the details, in lower case, with single spaces, and with `""` for each quoted name and `''` for each
   * text: for `addColumn`, the column's definition. Options that apply to the whole statement, such as `lock = none`,
   * are at its end.
   */
  readonly definition: string;
  /** Whether the statement runs in the migration's transaction. */
  readonly inTransaction: boolean;
  /** Whether an earlier statement of the same transaction has added a constraint to the table as `not valid`. */
  readonly followsUnvalidated: boolean;
  /** Whether an earlier statement of the same migration has validated a constraint of the table. */
  readonly followsValidation: boolean;
}

/** What `ashlar doctor` and `migrate --dry-run` find out about the tables of a database. */
export interface DialectInspection {
  /**
   * A statement like `columnNames` of {@link DialectMaintenance} for the columns that have their own unique index.
   * `null` if the database can't tell; `ashlar doctor` then doesn't check it.
   */
  readonly uniqueColumnNames: string | null;
  /**
   * How `ashlar doctor` finds text that doesn't compare byte by byte, in tables that other software has created. `null`
   * if the database has no such text.
   */
  readonly looseText: {
    /** A statement like `columnNames` of {@link DialectMaintenance} for the columns with such text. */
    readonly columnNames: string;
    /** A statement that makes all text of a table compare byte by byte. */
    mend(table: string): string;
  } | null;
  /**
   * How `ashlar doctor` finds tables without transactions and foreign keys, which other software has created. `null` if
   * the database has no such tables.
   */
  readonly plainTables: {
    /** A statement without parameters that returns rows with a `name`: the affected tables. */
    readonly names: string;
    /** A statement that gives a table both. */
    mend(table: string): string;
  } | null;
  /**
   * A statement without parameters that returns a row for each index that a failed attempt to create it has left
   * behind, and that no query uses: `name`, `table`. `null` if there is no such thing.
   */
  readonly invalidIndexes: string | null;
  /**
   * What a change of an existing table locks while it runs, or why it fails; `null` if it only has the effects that are the
   * same on every database, such as breaking the running version.
   */
  schemaRisk(change: SchemaChange): {
    /** The locks and breaking changes it causes, in a sentence or two. */
    readonly problem: string;
    /** What to do instead, in a sentence or two. */
    readonly remedy: string;
    /** Lines for migrations that do it; a comment says which comes when. Empty if the sentence is enough. */
    readonly lines: readonly string[];
  } | null;
}

/** A change's effect on the running version of the application, and how to avoid it. */
export type SchemaRisk = NonNullable<ReturnType<DialectInspection["schemaRisk"]>>;
