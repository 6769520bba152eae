/** How `ashlar db:copy` inspects a database's tables and fills them. */
export interface DialectCopying {
  /**
   * A statement without parameters that returns a row for each column of each table, in their order, with the text
   * columns `table` and `name`, and
   *
   * - `type`: `boolean`, `integer`, `decimal`, `real`, `text`, `binary`, `json`, `time`, or `other` for values that are
   *   copied as the database returns them;
   * - `length`: how many characters text may have; null for any number;
   * - `place`: its place in the primary key, from 1; 0 if it isn't part of it;
   * - `counted`: 1 if it is auto-increment, otherwise 0;
   * - `computed`: 1 if it can't be set, otherwise 0.
   */
  readonly columns: string;
  /**
   * A statement without parameters that returns a row for each column of each foreign key, in their order: `name`,
   * `table`, `column`, `parent`, `parent_column`, and `deferrable`, which is 1 or 0.
   */
  readonly references: string;
  /** A statement without parameters that returns a row for every other object that has rows: `name`, `kind`. */
  readonly others: string;
  /**
   * A statement without parameters that returns a row for everything that an insert into a table would fire, such as
   * triggers: `table`, `name`, `kind`. Such a table isn't copied into. `null` if the database has nothing like that.
   */
  readonly triggers: string | null;
  /**
   * A statement without parameters that returns a row for each table with an auto-increment column: `table`, and as the
   * text `last` the highest key ever assigned. It runs only if there is such a table.
   */
  readonly lastKeys: string;
  /**
   * The expression that orders the rows of a table without a primary key, such as `rowid`; `null` if there isn't one.
   */
  readonly rowOrder: string | null;
  /** The keywords that an insert needs between its columns and its values to be allowed to set every column. */
  readonly overriding: string;
  /**
   * A statement that returns one `version`, which another one follows whenever something else has written; `null` if the
   * database can't tell.
   */
  readonly version: string | null;
  /** Statements, outside of transactions, that make a column's keys continue after `last`. */
  keysAfter(table: string, column: string, last: bigint): readonly string[];
  /**
   * Statements at the beginning of a transaction that let rows be inserted before the rows that they refer to.
   *
   * @param references the foreign keys that no order of the tables satisfies
   */
  suspendReferences(references: readonly { readonly table: string; readonly name: string }[]): readonly string[];
  /** The statements at the transaction's end that undo `suspendReferences`. */
  resumeReferences(references: readonly { readonly table: string; readonly name: string }[]): readonly string[];
}
