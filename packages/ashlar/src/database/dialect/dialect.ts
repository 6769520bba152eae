import type { DialectCopying } from "./dialect-copying.ts";
import type { DialectInspection } from "./dialect-inspection.ts";
import type { DialectMaintenance } from "./dialect-maintenance.ts";
import type { DialectTransactions } from "./dialect-transactions.ts";
import type { DialectValues } from "./dialect-values.ts";
import type { Executor } from "./executor.ts";

/**
 * Everything that differs from one database to the next: a dialect opens and closes the database and runs statements, and has
 * a small contract for each subject. `sqlite()` and `postgres()` create the framework's own; for
 * yours, put a function that creates it into `DATABASES`:
 *
 * ```ts
 * // config/database.ts
 * export const DATABASES = {
 *   default: "main",
 *   // Listeners of `onQuery` don't see this connection's statements.
 *   main: (setup) => sqlite({ path: "database/app.sqlite" })({ ...setup, observer: { notify: null } }),
 * } satisfies DatabaseSettings;
 * ```
 *
 * `dialectSuite` of `ashlar/testing` tests a dialect's promises:
 *
 * - **Isolation.** A connection that was reserved belongs to one caller until it is released. No statement of
 *   {@link shared} runs on it in the meantime, and none sees an open transaction's writes. The framework sends the
 *   statements of a transaction one at a time.
 * - **Atomicity.** When `commit` resolves, everything between it and `begin` has been stored. If it throws, nothing has: a
 *   database that responds to a commit by rolling back, as PostgreSQL does after a failed statement, must throw. `rollback`
 *   undoes everything, or everything since the savepoint. If it cannot, it throws, and the connection is released as broken.
 *   A statement that fails has no effect at all. In a transaction that only reads, statements that write fail.
 * - **Concurrency.** Each statement is atomic. Of any number of concurrent conditional updates, in any number of
 *   processes, each sees the writes of the one before it; of inserts with the same unique value, one succeeds. Logins,
 *   limits, token renewals and reset links are decided this way.
 * - **Bounded waits.** A caller waits at most `acquireTimeoutMs` for a connection, and then gets `E_OVERLOADED`.
 * - **Errors.** A violated constraint throws `UniqueViolationError`, `ForeignKeyViolationError` or
 *   `NotNullViolationError`; an unknown column in a statement throws `UnknownColumnError`; everything else is a
 *   `DatabaseError`. Security: no message or cause contains a row's value. They are logged, and a row may contain a
 *   password hash.
 * - **Failures throw.** If the database cannot be reached, every operation that needs it throws, and none acts as if it
 *   were empty.
 * - **Values.** All types in `ColumnValue` can be bound. An integer comes back as a number, or as a bigint if a
 *   number can't hold it exactly; a timestamp as a `Date`, or as text that `new Date()` reads; text as it was stored.
 *   Text compares byte by byte: `a`, `A` and `ä` are three values, even in unique columns. Text that can't be stored
 *   exactly is refused with `E_INVALID_INPUT`. Comparing a column with a value of another type finds nothing or fails,
 *   but doesn't convert: text isn't equal to the number 0, nor `1abc` to the number 1.
 * - **SQL.** The statements of Kysely's builders for `select`, `insert`, `update` and `delete`, and savepoints, work as
 *   on SQLite and PostgreSQL. An update counts all matching rows, even those that already have the new values.
 *   `drop index` may name its table. `returning` and `on conflict`, which many databases lack, are used only by
 *   `transactions.writes`.
 */
export interface Dialect {
  /** The kind of database, such as `"sqlite"` or `"postgres"`. */
  readonly name: string;
  /** The absolute path of the database's file; omitted or `null` if it is on a server or in memory. */
  readonly file?: string | null;
  /** Whether nothing in it outlives the process, so that tests may empty it. */
  readonly isInMemory: boolean;
  /** How it writes SQL, and what its values look like. */
  readonly values: DialectValues;
  /** How connections are reserved, and how transactions begin, end and lock rows. */
  readonly transactions: DialectTransactions;
  /** What migrations and tests do to it besides running statements. */
  readonly maintenance: DialectMaintenance;
  /** What `ashlar doctor` finds out about its tables. Leave it out if it can't tell. */
  readonly inspection?: DialectInspection;
  /** How `ashlar db:copy` looks at its tables and fills them. Leave it out if it can't be copied from or to. */
  readonly copying?: DialectCopying;

  /** Opens the database now instead of on the first statement, so that mistakes show at boot. */
  connect(): Promise<void>;
  /** Runs each statement on any free connection, outside of transactions. */
  readonly shared: Executor;
  /**
   * Copies of the database that follow it with some delay, can only be read, and that reads of requests may run on
   * instead; omitted or `null` if there aren't any.
   */
  readonly replicas?: {
    /** Each runs statements on one of them, on any free connection, and reports failures like {@link Dialect.shared}. */
    readonly executors: readonly Executor[];
    /**
     * How long a visitor who has written reads from the database itself, in seconds: longer than the replicas' delay.
     */
    readonly ownWritesSeconds: number;
    /**
     * How to find out whether a replica lags by more than that. Without it, replicas are used however far they lag.
     */
    readonly following?: {
      /**
       * Returns a text that identifies the database's current position, that is, the end of its committed changes;
       * `null` if unknown.
       */
      position(): Promise<string | null>;
      /** Reports whether a replica has reached a position; `null` if unknown. */
      hasReached(executor: Executor, position: string): Promise<boolean | null>;
    };
  } | null;
  /** How much of its pool is in use, for `application.stats()`; leave it out if the driver can't tell. */
  usage?(): {
    /** How many connections there may be. */
    readonly limit: number;
    /** How many are open. */
    readonly open: number;
    /** How many run a statement or a transaction. */
    readonly used: number;
    /** How many callers wait for one. */
    readonly waiting: number;
  };
  /**
   * A dialect for the same database with a separate pool, for statements that must not wait behind the others, nor the
   * others behind them; leave it out if there is no pool. It has no replicas.
   *
   * @param poolSize the maximum number of its connections
   * @param observer receives its statements
   */
  beside?(poolSize: number, observer: DialectSetup["observer"]): Dialect;
  /** Waits for running statements, and releases every connection. Later statements fail with `E_DATABASE`. */
  close(): Promise<void>;
}

/** Copies of the database that follow it with some delay, and can only be read. */
export type Replicas = NonNullable<Dialect["replicas"]>;

/** The number of a connection's read replicas in each state. */
export interface ReplicaUsage {
  /** How many answer reads. */
  readonly used: number;
  /** How many don't respond. */
  readonly away: number;
  /** How many lag by more than `ownWritesSeconds`. */
  readonly behind: number;
}

/** The use of a connection's pool. */
export type ConnectionUsage = ReturnType<NonNullable<Dialect["usage"]>>;

/** The arguments for creating a dialect. */
export interface DialectSetup {
  /** The connection's location in the configuration, for messages: `config/database.ts: DATABASES.main`. */
  readonly where: string;
  /** The application's root, as an absolute path: file paths are relative to it. */
  readonly root: string;
  /** Receives each statement, and the path of a file that was created. */
  readonly observer: {
    /** Called before each statement runs, without its values. */
    notify: ((sql: string) => void) | null;
    /** Called with the path of a database file that did not exist and was created. */
    created?: ((path: string) => void) | null;
  };
  /**
   * Whether a command such as `ashlar doctor` only inspects the application: if so, connecting must not create or
   * change anything. Default: `false`.
   */
  readonly isInspected?: boolean;
  /**
   * How long a request may wait for its first connection under overload, in milliseconds, as in
   * `APP.server.maxQueueMs`; with `0`, the default, only the connection's own limit applies.
   */
  readonly maxQueueMs?: number;
}

/**
 * Creates the dialect of a connection: the result of `sqlite()` and `postgres()`, and an entry of `DATABASES`. It opens
 * nothing yet.
 *
 * @throws `E_INVALID_CONFIGURATION` if an option is invalid
 */
export type DialectSource = (setup: DialectSetup) => Dialect;

/** The notifications of a dialect. */
export type Observer = DialectSetup["observer"];
