import type {
  ColumnDataType,
  ColumnDefinitionBuilder,
  CompiledQuery,
  DatabaseIntrospector,
  DialectAdapter,
  Expression,
  IsolationLevel,
  Kysely,
  QueryCompiler,
  QueryResult,
  SelectQueryBuilder,
} from "kysely";
import type { AshlarError, MaybePromise } from "../../support/index.ts";
import type { SchemaChange, SchemaRisk } from "./schema-change.ts";
import type { Writes } from "./writes.ts";

/** A value that a column can be compared with. */
export type ColumnValue = string | number | bigint | boolean | Date | Uint8Array | null;

/** A row as returned by the database. */
export type Row = { [column: string]: unknown };

/** Options for beginning a transaction. */
export interface TransactionOptions {
  /** How far it is isolated from others; default: the database's. SQLite is always `serializable`. */
  readonly isolation?: IsolationLevel;
  /** Whether it only reads: a statement in it that writes fails with `E_DATABASE`. */
  readonly readOnly?: boolean;
  /**
   * How often the whole function is run again, in a new transaction, if the database refuses something in it or its commit
   * because of another transaction (`E_DATABASE_CONFLICT`: a serialization failure or a deadlock); default: 0. It has no
   * effect on a nested transaction.
   */
  readonly retries?: number;
}

/** Runs statements. Errors are those that `ashlar/database` exports, on every dialect. */
export interface Executor {
  /** Runs a compiled statement. */
  execute(query: CompiledQuery): MaybePromise<QueryResult<Row>>;
  /** Runs a statement with one parameter and returns the first row: what `find` uses, so keep it short. */
  first(sql: string, value: ColumnValue): MaybePromise<Row | undefined>;
}

/** Copies of the database that follow it with some delay, and can only be read. */
export interface Replicas {
  /** Each runs statements on one of them, on any free connection, and reports failures like {@link Dialect.shared}. */
  readonly executors: readonly Executor[];
  /** For how long a visitor who has written reads from the database itself, in seconds: longer than the replicas' delay. */
  readonly ownWritesSeconds: number;
  /** How to find out whether a replica is further behind than that. Without it, replicas are used however late they are. */
  readonly following?: {
    /** Returns a text for how far the database itself is: what it has committed by now; `null` if it can't tell. */
    position(): Promise<string | null>;
    /** Reports whether a replica has what was committed by then; `null` if it can't tell. */
    hasReached(executor: Executor, position: string): Promise<boolean | null>;
  };
}

/** How many read replicas of a connection are in which state. */
export interface ReplicaUsage {
  /** How many answer reads. */
  readonly used: number;
  /** How many don't respond. */
  readonly away: number;
  /** How many are further behind than `ownWritesSeconds`. */
  readonly behind: number;
}

/** A connection to the database, while one caller has it to itself. */
export interface PhysicalConnection extends Executor {
  /**
   * The error of the latest statement that the database refused. The framework resets it when a transaction begins and
   * ends.
   */
  failure: AshlarError | null;
}

/** A connection that is reserved for one caller, until it is released. */
export interface Reservation {
  readonly connection: PhysicalConnection;
  /** @param broken whether the connection is in an unknown state and must not be used again */
  release(broken: boolean): void;
}

/** How much of a connection's pool is in use. */
export interface ConnectionUsage {
  /** How many connections there may be. */
  readonly limit: number;
  /** How many are open. */
  readonly open: number;
  /** How many run a statement or a transaction. */
  readonly used: number;
  /** How many callers wait for one. */
  readonly waiting: number;
}

/** How columns that differ from one database to the next are declared. */
export interface ColumnTypes {
  /** Keys count up and are never reused, not even after a rollback or a deletion. */
  readonly primaryKey: {
    readonly type: ColumnType;
    readonly define: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder;
  };
  /** The type of a column that refers to a primary key. */
  readonly reference: ColumnType;
  readonly timestamp: ColumnType;
  readonly json: ColumnType;
  /** The type of a column for text of any length; `text` holds only 65,535 bytes on some databases. */
  readonly longText: ColumnType;
  /** The current time, as the default of a timestamp column. */
  readonly now: Expression<unknown>;
}

/** A column's type as Kysely takes it. */
export type ColumnType = ColumnDataType | Expression<unknown>;

/** Kysely's adapter with the dialect's column types, which migrations reach from their `Kysely`. */
export type PortableAdapter = DialectAdapter & {
  readonly columnTypes: ColumnTypes;
  /** How it creates an index while others write the table; omitted if it knows only one way. */
  readonly onlineIndex?: {
    /** What follows `index` in the statement, and in the one that drops it. */
    readonly keyword?: string;
    /** What is at the end of the statement. */
    readonly option?: string;
    /** A statement that returns a row if the table has an index that a failed attempt left behind; both names are parameters. */
    readonly isInvalid?: string;
  };
};

/**
 * What a row is locked against until the transaction ends: every change, because the transaction is about to change the row
 * itself; or only what would break a reference to it, such as deleting it. `skip` is like `change`, but leaves out rows that
 * someone else has locked; a database that can't do that waits for them.
 */
export type RowLock = "change" | "reference" | "skip";

/**
 * Everything that differs from one database to the next. `sqlite()` and `postgres()` create the framework's own; for
 * yours, put a function that creates it into `DATABASES`:
 *
 * ```ts
 * // config/database.ts
 * export const DATABASES = {
 *   default: "main",
 *   // Listeners of `onQuery` are not told about this connection.
 *   main: (setup) => sqlite({ path: "database/app.sqlite" })({ ...setup, observer: { notify: null } }),
 * } satisfies DatabaseSettings;
 * ```
 *
 * `dialectSuite` of `ashlar/testing` tests a dialect's promises:
 *
 * - **Isolation.** A connection that was reserved belongs to one caller until it is released. No statement of {@link shared}
 *   runs on it meanwhile, and none sees what an open transaction has written. The framework sends the statements of a
 *   transaction one at a time.
 * - **Atomicity.** When `commit` resolves, everything between it and `begin` has been stored. If it throws, nothing has: a
 *   database that responds to a commit by rolling back, as PostgreSQL does after a failed statement, must throw. `rollback`
 *   undoes everything, or everything since the savepoint. If it cannot, it throws, and the connection is released as broken.
 *   A statement that fails has no effect at all. In a transaction that only reads, statements that write fail.
 * - **Concurrency.** Each statement is atomic. Of any number of concurrent conditional updates, in any number of
 *   processes, each sees what the one before it has written; of inserts with the same unique value, one succeeds.
 *   Logins, limits, token renewals and reset links are decided this way.
 * - **Bounded waits.** A caller waits at most `acquireTimeoutMs` for a connection, and then gets `E_OVERLOADED`.
 * - **Errors.** A violated constraint throws `UniqueViolationError`, `ForeignKeyViolationError` or
 *   `NotNullViolationError`; an unknown column in a statement throws `UnknownColumnError`; everything else is a
 *   `DatabaseError`. Security: no message or cause contains a value of a row. They are logged, and a row may contain a
 *   password hash.
 * - **Failures throw.** If the database cannot be reached, whatever needs it throws, and nothing acts as if it were empty.
 * - **Values.** All types in {@link ColumnValue} can be bound. An integer comes back as a number, or as a bigint if a
 *   number can't hold it exactly; a timestamp as a `Date`, or as text that `new Date()` reads; text as it was stored.
 *   Text compares byte by byte: `a`, `A` and `ä` are three values, even in unique columns. Text that can't be stored
 *   exactly is refused with `E_INVALID_INPUT`. Comparing a column with a value of another type finds nothing or fails,
 *   but doesn't convert: text isn't equal to the number 0, nor `1abc` to the number 1.
 * - **SQL.** What Kysely's builders make of `select`, `insert`, `update` and `delete`, and savepoints, work as on SQLite and
 *   PostgreSQL. An update counts all matching rows, even those that already have the new values. `drop index` may name its table. `returning` and
 *   `on conflict`, which many databases lack, are used only by {@link writes}.
 */
export interface Dialect {
  /** The kind of database, such as `"sqlite"` or `"postgres"`. */
  readonly name: string;
  /** How long a caller waits for a connection, or for its turn inside a transaction, in milliseconds. */
  readonly acquireTimeoutMs: number;
  /** Whether the driver returns JSON columns parsed. */
  readonly parsesJson: boolean;
  /** Whether a failed statement ends its transaction: later statements are refused, and so is the commit. */
  readonly failureEndsTransaction: boolean;
  /**
   * Whether changes of tables are rolled back with their transaction. If not, because the database commits at each of them,
   * migrations run without a transaction.
   */
  readonly schemaIsTransactional: boolean;
  /** The absolute path of the file that the database is in; omitted or `null` if it is on a server or in memory. */
  readonly file?: string | null;
  /** Whether nothing in it outlives the process, so that tests may empty it. */
  readonly isInMemory: boolean;
  /**
   * The server's time in whole milliseconds since 1970, the same throughout a statement; `null` if the database runs in
   * this process and so has its clock.
   */
  readonly serverTime: Expression<number> | null;
  /**
   * Whether an index serves `order by` only if the order also names the columns before it that `is null` fixes. PostgreSQL
   * takes `is null` for a range and sorts all rows otherwise; leave it out if the database doesn't.
   */
  readonly ordersByNulls?: boolean;
  /**
   * A statement that returns rows with a `name`: the columns of the table that statements find by the name in its one
   * parameter. It returns no rows if there is no such table.
   */
  readonly columnNames: string;
  /**
   * A statement like {@link columnNames} for the columns that have a unique index of their own. Leave it out if the
   * database can't tell; `ashlar doctor` then doesn't check it.
   */
  readonly uniqueColumnNames?: string;
  /**
   * How `ashlar doctor` finds text that doesn't compare byte by byte, in tables that something else has created. Leave it out
   * if the database has no such text.
   */
  readonly looseText?: {
    /** A statement like {@link columnNames} for the columns with such text. */
    readonly columnNames: string;
    /** A statement after which all text of a table compares byte by byte. */
    mend(table: string): string;
  };
  /**
   * How `ashlar doctor` finds tables without transactions and foreign keys, which something else has created. Leave it out if
   * the database has no such tables.
   */
  readonly plainTables?: {
    /** A statement without parameters that returns rows with a `name`: the tables of the database that are such. */
    readonly names: string;
    /** A statement after which a table has both. */
    mend(table: string): string;
  };
  /** How `ashlar db:copy` looks at tables and fills them. Leave it out if the database can't be copied from or to. */
  readonly copying?: {
    /**
     * A statement without parameters that returns a row for each column of each table, in their order, with the text
     * columns `table` and `name`, and
     *
     * - `type`: `boolean`, `integer`, `decimal`, `real`, `text`, `binary`, `json`, `time`, or `other` for what is copied as
     *   the database returns it;
     * - `length`: how many characters text may have; null for any number;
     * - `place`: its place in the primary key, from 1; 0 if it isn't part of it;
     * - `counted`: 1 if the database counts it up, else 0;
     * - `computed`: 1 if it can't be set, else 0.
     */
    readonly columns: string;
    /**
     * A statement without parameters that returns a row for each column of each foreign key, in their order: `name`,
     * `table`, `column`, `parent`, `parent_column`, and `deferrable`, which is 1 or 0.
     */
    readonly references: string;
    /** A statement without parameters that returns a row for everything with rows that is no such table: `name`, `kind`. */
    readonly others: string;
    /**
     * A statement without parameters that returns a row for everything that an insert into a table would fire, such as a
     * trigger: `table`, `name`, `kind`. Such a table isn't copied into. Omitted if the database has nothing like that.
     */
    readonly triggers?: string;
    /**
     * A statement without parameters that returns a row for each table with a column that is counted up: `table`, and as
     * the text `last` the highest key that was ever given. It runs only if there is one.
     */
    readonly lastKeys: string;
    /** What orders the rows of a table without a primary key, such as `rowid`; `null` if there is no such thing. */
    readonly rowOrder: string | null;
    /** What an insert needs between its columns and its values, so that it may set every column. */
    readonly overriding: string;
    /**
     * A statement that returns one `version`, which another one follows whenever something else has written; omitted if the
     * database can't tell.
     */
    readonly version?: string;
    /** Statements, outside of transactions, after which a column is counted up from the key after `last`. */
    keysAfter(table: string, column: string, last: bigint): readonly string[];
    /**
     * Statements at the beginning of a transaction, after which rows may come before those that they refer to.
     *
     * @param references the foreign keys that no order of the tables satisfies
     */
    suspendReferences(references: readonly { readonly table: string; readonly name: string }[]): readonly string[];
    /** The statements at the transaction's end that undo `suspendReferences`. */
    resumeReferences(references: readonly { readonly table: string; readonly name: string }[]): readonly string[];
  };
  /**
   * A statement without parameters that returns a row for each index that a failed attempt to create it has left behind, so
   * that no query uses it: `name`, `table`. Leave it out if there is no such thing.
   */
  readonly invalidIndexes?: string;
  readonly adapter: PortableAdapter;
  readonly compiler: QueryCompiler;
  /** Writes that return what they did, or that depend on what is stored. */
  readonly writes: Writes;
  introspector(kysely: Kysely<unknown>): DatabaseIntrospector;

  /** How much of it is in use, for `application.stats()`; leave it out if the driver can't tell. */
  usage?(): ConnectionUsage;

  /**
   * A dialect for the same database with a pool of its own, for statements that must not wait behind the others, nor the
   * others behind them; leave it out if there is no pool. It has no replicas.
   *
   * @param poolSize the maximum number of its connections
   * @param observer receives its statements
   */
  beside?(poolSize: number, observer: Observer): Dialect;

  /** Opens the database now instead of on the first statement, so that mistakes show at boot. */
  connect(): Promise<void>;
  /** Runs each statement on any free connection, outside of transactions. */
  readonly shared: Executor;
  /** What reads of requests may run on instead; omitted or `null` if there are none. */
  readonly replicas?: Replicas | null;
  /** Reserves a connection. */
  reserve(): MaybePromise<Reservation>;
  begin(connection: PhysicalConnection, options: TransactionOptions): MaybePromise<void>;
  commit(connection: PhysicalConnection): MaybePromise<void>;
  /** @param savepoint the one to roll back to and release; `null` for the whole transaction */
  rollback(connection: PhysicalConnection, savepoint: string | null): MaybePromise<void>;
  /**
   * Makes a SELECT lock its rows until the transaction ends, and wait for other holders of the lock. A database with
   * one writer at a time returns the query as it is.
   */
  lockRows<DB, T extends keyof DB, O>(
    query: SelectQueryBuilder<DB, T, O>,
    against: RowLock,
  ): SelectQueryBuilder<DB, T, O>;

  /**
   * From here on, tables can be rebuilt: dropping one does not delete rows of others. Called outside of a transaction.
   */
  suspendForeignKeys(connection: PhysicalConnection): MaybePromise<void>;
  /**
   * Checks what was not checked in the meantime.
   *
   * @throws `E_FOREIGN_KEY_VIOLATION` with the tables and rows
   */
  checkForeignKeys(connection: PhysicalConnection): MaybePromise<void>;
  /** Ends what {@link suspendForeignKeys} began. */
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
   * `E_DATABASE_BUSY`. If changes of tables can be rolled back, it is called in the transaction, and counts until its end.
   * Without it, they wait as long as the database lets them.
   *
   * @param timeoutMs in milliseconds; `null`: as usual again
   */
  limitLockWaits?(connection: PhysicalConnection, timeoutMs: number | null): MaybePromise<void>;
  /**
   * What a change of an existing table locks while it runs, or why it fails, for `ashlar doctor` and `migrate --dry-run`;
   * `null` if only what counts on every database does: what the running version can't live with. Leave it out if that is all.
   */
  schemaRisk?(change: SchemaChange): SchemaRisk | null;
  /** Drops every table, view and type of the database. */
  dropEverything(connection: PhysicalConnection): MaybePromise<void>;
  /**
   * Deletes every row, in the order that the foreign keys require, and counts keys from 1 again.
   *
   * @param kept the tables that are left unchanged
   */
  emptyTables(connection: PhysicalConnection, kept: readonly string[]): MaybePromise<void>;
  /**
   * Creates an empty database of the same kind, for one test run. `createTestApplication` uses it if it gets this
   * dialect.
   */
  createTestDatabase(): Promise<TestDatabase>;

  /** Waits for running statements, and releases every connection. Later statements fail with `E_DATABASE`. */
  close(): Promise<void>;
}

/** A database created for tests. */
export interface TestDatabase {
  readonly dialect: DialectSource;
  /** Removes the database; called once nothing is connected to it. */
  remove(): Promise<void>;
}

/** What a dialect is created with. */
export interface DialectSetup {
  /** The connection's location in the configuration, for messages: `config/database.ts: DATABASES.main`. */
  readonly where: string;
  /** The application's root, as an absolute path: file paths are relative to it. */
  readonly root: string;
  /** Receives each statement, and the path of a file that was created. */
  readonly observer: Observer;
  /**
   * Whether a command such as `ashlar doctor` only looks at the application: connecting must not create or change anything
   * then. Default: `false`.
   */
  readonly isInspected?: boolean;
  /**
   * How long a request may wait for its first connection while more come than can be served, in milliseconds, as
   * `APP.server.maxQueueMs`; `0`, the default, for no other limit than the connection's own.
   */
  readonly maxQueueMs?: number;
}

/**
 * Creates the dialect of a connection: what `sqlite()` and `postgres()` return, and an entry of `DATABASES`. It opens
 * nothing yet.
 *
 * @throws `E_INVALID_CONFIGURATION` if something is wrong with its options
 */
export type DialectSource = (setup: DialectSetup) => Dialect;

/** What a dialect tells about. */
export interface Observer {
  /** Called before each statement runs, without its values. */
  notify: ((sql: string) => void) | null;
  /** Called with the path of a database file that did not exist and was created. */
  created?: ((path: string) => void) | null;
}
