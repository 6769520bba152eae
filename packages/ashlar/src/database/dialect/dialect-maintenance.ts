import type { MaybePromise } from "../../support/index.ts";
import type { Dialect, DialectSetup, DialectSource } from "./dialect.ts";
import type { PhysicalConnection } from "./executor.ts";

/** What migrations and tests do to a database besides running statements. */
export interface DialectMaintenance {
  /**
   * A statement that returns rows with a `name`: the columns of the table whose name is its one parameter, as
   * statements would find it. It returns no rows if the table doesn't exist.
   */
  readonly columnNames: string;
  /**
   * Whether schema changes are rolled back with their transaction. If not, because the database commits at each of
   * them, migrations run without a transaction.
   */
  readonly schemaIsTransactional: boolean;
  /** How it creates an index while others write to the table; `null` if there is only one way to create an index. */
  readonly onlineIndex: {
    /** The keywords after `index` in the statement, and in its drop statement; may be empty. */
    readonly keyword: string;
    /** The end of the statement; may be empty. */
    readonly option: string;
    /**
     * A statement that returns a row if a failed attempt left the index behind; the table's name and the index's are
     * parameters. `null` if a failed attempt leaves nothing behind.
     */
    readonly isInvalid: string | null;
  } | null;
  /**
   * From here on, tables can be rebuilt: dropping one does not delete rows of others. Called outside of a transaction.
   */
  suspendForeignKeys(connection: PhysicalConnection): MaybePromise<void>;
  /**
   * Checks the foreign keys that weren't checked in the meantime.
   *
   * @throws `E_FOREIGN_KEY_VIOLATION` with the tables and rows
   */
  checkForeignKeys(connection: PhysicalConnection): MaybePromise<void>;
  /** Undoes {@link suspendForeignKeys}. */
  resumeForeignKeys(connection: PhysicalConnection): MaybePromise<void>;
  /**
   * Waits until no other process runs migrations. The holder of the lock can take it several times, and must unlock as
   * often.
   *
   * @throws `E_MIGRATION` if it waited too long
   */
  lockMigrations(connection: PhysicalConnection): MaybePromise<void>;
  unlockMigrations(connection: PhysicalConnection): MaybePromise<void>;
  /**
   * Limits how long statements of a migration wait for the lock of a table: one that waits longer fails with
   * `E_DATABASE_BUSY`. If schema changes can be rolled back, it is called in the transaction, and applies until its
   * end. `null` if they wait as long as the database lets them.
   *
   * @param timeoutMs in milliseconds; `null` restores the default
   */
  readonly limitLockWaits: ((connection: PhysicalConnection, timeoutMs: number | null) => MaybePromise<void>) | null;
  /** Drops every table, view and type of the database. */
  dropEverything(connection: PhysicalConnection): MaybePromise<void>;
  /**
   * Deletes every row, in the order that the foreign keys require, and restarts keys at 1.
   *
   * @param kept the tables that are left unchanged
   */
  emptyTables(connection: PhysicalConnection, kept: readonly string[]): MaybePromise<void>;
  /**
   * Creates an empty database of the same kind, for one test run. `createTestApplication` uses it if it gets this
   * dialect.
   */
  createTestDatabase(): Promise<{
    readonly dialect: DialectSource;
    /** Removes the database; called once nothing is connected to it. */
    remove(): Promise<void>;
  }>;
}

/** A database created for tests. */
export type TestDatabase = Awaited<ReturnType<DialectMaintenance["createTestDatabase"]>>;

/** Creates another dialect of the same kind, for a test's database or for administration. */
export type CreateDialect<Settings> = (
  settings: Settings,
  setup: Pick<DialectSetup, "where" | "root" | "observer" | "maxQueueMs">,
) => Dialect;
