import { existsSync } from "node:fs";
import type { SQLInputValue, StatementSync } from "node:sqlite";
import type { CompiledQuery, QueryResult } from "kysely";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import { BoundedCache } from "../bounded-cache.ts";
import { ColumnValueError, isStorableText, kindOf } from "../dialect/column-names.ts";
import type { Observer } from "../dialect/dialect.ts";
import type { ColumnValue, PhysicalConnection, Row } from "../dialect/executor.ts";
import { DatabaseError } from "../errors.ts";
import { DatabaseSync } from "./node-sqlite.ts";
import type { CompleteSqliteSettings } from "./sqlite.ts";
import { BUSY, isBusy, retryWhileBusy } from "./sqlite-busy.ts";
import { sqliteErrorCode, translateSqliteError } from "./sqlite-errors.ts";
import { createPrivately, IN_MEMORY, obstacle } from "./sqlite-file.ts";

/**
 * How many prepared statements are kept: far more than an application has, unless its SQL depends on the length of
 * lists.
 */
const STATEMENTS_KEPT = 500;

/** How a connection differs from the writing connection. */
interface ConnectionOptions {
  /** Whether statements that would change the file must fail. */
  readonly isReadOnly?: boolean;
  /**
   * How long the caller has already waited for its turn, in milliseconds. This counts toward the time that it waits for
   * the file.
   */
  readonly waitedMs?: () => number;
}

interface PreparedStatement {
  readonly handle: StatementSync;
  /** Whether it returns rows. */
  readonly reads: boolean;
  /** Whether the driver returns integers as bigints, which are then converted to numbers if they fit. */
  bigints: boolean;
}

/**
 * One connection to the file. Its statements run synchronously; if another process has locked the file, they are
 * retried asynchronously for `busyTimeoutMs`. Callers must make sure that no one else has a transaction on it.
 */
export class SqliteConnection implements PhysicalConnection {
  failure: AshlarError | null = null;
  /**
   * Whether a transaction was begun and not ended by the framework. SQLite may have rolled it back by itself in the
   * meantime.
   */
  isBegun = false;
  /** Whether readers see the last commit while a transaction is open; known once a writing connection is open. */
  hasWriteAheadLog = false;
  readonly #settings: CompleteSqliteSettings;
  readonly #observer: Observer;
  readonly #statements = new BoundedCache<PreparedStatement>(STATEMENTS_KEPT);
  readonly #options: ConnectionOptions;
  #isNew = false;
  #database: DatabaseSync | null = null;
  #refusesWrites = false;
  #closed = false;

  constructor(settings: CompleteSqliteSettings, observer: Observer, options: ConnectionOptions = {}) {
    this.#settings = settings;
    this.#observer = observer;
    this.#options = options;
  }

  /** Opens the file. Waits like a statement if another process has locked it. */
  async connect(): Promise<void> {
    try {
      this.open();
    } catch (error) {
      await this.#again(error, () => this.open());
    }
  }

  get inTransaction(): boolean {
    return this.open().isTransaction;
  }

  /** Makes statements that would change the file fail, until it is called with `false`. */
  refuseWrites(refuses: boolean): void {
    if (refuses === this.#refusesWrites || this.#settings.isReadOnly) return;
    // Not prepared, because SQLite changes this setting when it compiles the statement.
    this.open().exec(`pragma query_only = ${refuses ? "on" : "off"}`);
    this.#refusesWrites = refuses;
  }

  execute(query: CompiledQuery): MaybePromise<QueryResult<Row>> {
    this.#observer.notify?.(query.sql);
    try {
      return this.#execute(query);
    } catch (error) {
      return this.#again(error, () => this.#execute(query));
    }
  }

  first(text: string, value: ColumnValue): MaybePromise<Row | undefined> {
    this.#observer.notify?.(text);
    try {
      return this.#first(text, value);
    } catch (error) {
      // No row contains an integer that columns can't hold.
      if (error instanceof ColumnValueError) return undefined;
      return this.#again(error, () => this.#first(text, value));
    }
  }

  /** The largest key used so far in each table whose key is AUTOINCREMENT. */
  keysGiven(): ReadonlyMap<string, string> {
    try {
      // As text, which can hold any integer.
      const { handle } = this.#prepared("select name, cast(seq as text) as seq from sqlite_sequence");
      return new Map(handle.all().map(({ name, seq }) => [String(name), String(seq)]));
    } catch {
      // No table has such a key.
      return new Map();
    }
  }

  /**
   * Makes sure that keys from before a rollback aren't used again, as on PostgreSQL. SQLite would reuse them for other
   * rows, although a model, a log or a mail may already contain them.
   */
  async giveNoneAgain(given: ReadonlyMap<string, string>): Promise<void> {
    const kept = this.keysGiven();
    for (const [table, key] of given) {
      if (kept.get(table) === key) continue;
      try {
        await this.#raise(table, key);
      } catch {
        // The disk is full, or the file was locked for too long. The transaction's own failure is reported instead.
        return;
      }
    }
  }

  #raise(table: string, key: string): MaybePromise<void> {
    try {
      this.#raiseKey(table, key);
    } catch (error) {
      return this.#again(error, () => this.#raiseKey(table, key));
    }
  }

  #raiseKey(table: string, key: string): void {
    const raise = "update sqlite_sequence set seq = max(seq, cast(? as integer)) where name = ?";
    if (Number(this.#prepared(raise).handle.run(key, table).changes) > 0) return;
    // The table's row in `sqlite_sequence` was rolled back too, and possibly the table itself.
    const add = `insert into sqlite_sequence (name, seq) select name, cast(? as integer) from sqlite_schema
      where type = 'table' and name = ? and sql like '%autoincrement%'`;
    this.#prepared(add).handle.run(key, table);
  }

  /** Opens the file. @throws SQLite's own error if the file is locked; {@link connect} waits instead */
  open(): DatabaseSync {
    if (this.#database !== null) return this.#database;
    if (this.#closed) throw new DatabaseError("The connection to the database is closed.", null);
    const { path } = this.#settings;
    try {
      this.#database = this.#openFile();
      return this.#database;
    } catch (error) {
      if (isBusy(error)) throw error;
      const reason = obstacle(path);
      const { errcode = 0, message } = error as Error & { errcode?: number };
      const problem = `The SQLite file ${path} cannot be opened: ${reason ?? `${message}.`}`;
      throw new DatabaseError(problem, null, error, reason === null ? sqliteErrorCode(errcode) : "E_DATABASE");
    }
  }

  #openFile(): DatabaseSync {
    const { path, isReadOnly = false } = this.#settings;
    // SQLite's own timeout is never used, because it would block the whole process.
    if (isReadOnly) {
      // A read-only connection leaves the log's files in place. Any other connection would move a log that a crash left
      // behind into the file, and delete it.
      const readOnly = existsSync(`${path}-wal`);
      return set(new DatabaseSync(path, { timeout: 0, readOnly }), "pragma query_only = on");
    }
    if (this.#options.isReadOnly === true) return set(new DatabaseSync(path, { timeout: 0, readOnly: true }), CACHE);
    this.#isNew = path !== IN_MEMORY && (createPrivately(path) || this.#isNew);
    const database = new DatabaseSync(path, { timeout: 0 });
    // With a write-ahead log, readers don't wait for a writer. With NORMAL, a power failure loses at most the last
    // transactions, and the file stays intact. Deleted content is overwritten, so that a deleted user can't be
    // recovered from the file.
    set(database, `pragma journal_mode = wal; pragma synchronous = normal; pragma secure_delete = on; ${CACHE}`);
    // SQLite uses another mode in memory, and on file systems that can't share a log.
    this.hasWriteAheadLog = database.prepare("pragma journal_mode").get()!.journal_mode === "wal";
    if (this.#isNew) this.#observer.created?.(path);
    return database;
  }

  close(): void {
    this.#closed = true;
    this.#database?.close();
    this.#database = null;
  }

  #execute(query: CompiledQuery): QueryResult<Row> {
    this.#refuseAlone();
    const statement = this.#prepared(query.sql);
    const values = query.parameters.map(bind);
    if (statement.reads) return { rows: this.#rows(statement, values) };
    const { changes, lastInsertRowid } = statement.handle.run(...values);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  #first(text: string, value: ColumnValue): Row | undefined {
    this.#refuseAlone();
    const statement = this.#prepared(text);
    if (statement.bigints) return this.#rows(statement, [bind(value)])[0];
    try {
      return statement.handle.get(bind(value));
    } catch (error) {
      return this.#rowsWithBigints(error, statement, [bind(value)])[0];
    }
  }

  /**
   * Refuses statements after SQLite has rolled back the transaction by itself, for example because the disk is full.
   * They would be committed without the earlier ones.
   */
  #refuseAlone(): void {
    if (!this.isBegun || this.inTransaction) return;
    throw new DatabaseError(
      "SQLite has rolled the transaction back, because a statement in it failed.",
      null,
      this.failure,
    );
  }

  /** Retries if the file was locked, or else throws the converted error. */
  #again<T>(error: unknown, attempt: () => T): Promise<T> {
    if (!isBusy(error)) throw this.#translated(error);
    return this.#retry(attempt);
  }

  async #retry<T>(attempt: () => T): Promise<T> {
    const { path, busyTimeoutMs } = this.#settings;
    const { waitedMs = () => 0 } = this.#options;
    try {
      return await retryWhileBusy(attempt, Math.max(0, busyTimeoutMs - waitedMs()));
    } catch (error) {
      if (!isBusy(error)) throw this.#translated(error);
      const problem = `The SQLite file ${path} was locked by another process for all of ${busyTimeoutMs} ms.`;
      const remedy = "Keep its transactions short, or set busyTimeoutMs in config/database.ts.";
      throw new DatabaseError(`${problem} ${remedy}`, String(BUSY), error, "E_DATABASE_BUSY");
    }
  }

  #translated(error: unknown): AshlarError {
    if (error instanceof AshlarError) return error;
    const { path, isReadOnly = false } = this.#settings;
    this.failure = translateSqliteError(error, this.#refusesWrites || isReadOnly, path);
    return this.failure;
  }

  #prepared(text: string): PreparedStatement {
    const database = this.open();
    return this.#statements.get(text, () => {
      const handle = database.prepare(text);
      // Text after the first statement would be silently ignored.
      if (text.slice(handle.sourceSQL.length).trim() !== "") {
        throw new AshlarError("E_INVALID_QUERY", "SQLite runs one statement at a time. Split the SQL into several.");
      }
      const reads = handle.columns().length > 0;
      // A statement that writes can't be run again, so large integers must be read correctly the first time: those in
      // the returned rows, and the connection's latest key, which SQLite returns with every write.
      const bigints = !/^\s*select\b/i.test(text);
      if (bigints) handle.setReadBigInts(true);
      return { handle, reads, bigints };
    });
  }

  #rows(statement: PreparedStatement, values: readonly SQLInputValue[]): Row[] {
    if (!statement.bigints) {
      try {
        return statement.handle.all(...values);
      } catch (error) {
        return this.#rowsWithBigints(error, statement, values);
      }
    }
    const rows: Row[] = statement.handle.all(...values);
    for (const row of rows) narrowBigints(row);
    return rows;
  }

  /** Runs a SELECT again if an integer in its rows was too large for a number. */
  #rowsWithBigints(error: unknown, statement: PreparedStatement, values: readonly SQLInputValue[]): Row[] {
    if ((error as NodeJS.ErrnoException).code !== "ERR_OUT_OF_RANGE") throw error;
    statement.handle.setReadBigInts(true);
    statement.bigints = true;
    return this.#rows(statement, values);
  }
}

/**
 * Caches up to 32 MiB of pages, which use memory only once they have been read. With SQLite's default of 2 MB, each
 * lookup in a table with a million rows reads most of its pages from the system again.
 */
const CACHE = "pragma cache_size = -32768";

/** Applies settings to a newly opened connection, and closes the connection if that fails. */
function set(database: DatabaseSync, pragmas: string): DatabaseSync {
  try {
    database.exec(pragmas);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function narrowBigints(row: Row): void {
  for (const column in row) {
    const value = row[column];
    if (typeof value !== "bigint") continue;
    const number = Number(value);
    if (Number.isSafeInteger(number)) row[column] = number;
  }
}

/** Converts a value for SQLite. */
function bind(value: unknown): SQLInputValue {
  switch (typeof value) {
    case "string":
      if (isStorableText(value)) return value;
      break;
    case "bigint":
      if (BigInt.asIntN(64, value) === value) return value;
      throw new ColumnValueError(null, "An integer for the database does not fit into 64 bits.");
    case "number":
      // The driver binds numbers as floating-point values, which a text column would store as "1.0".
      if (Number.isSafeInteger(value)) return BigInt(value);
      if (Number.isFinite(value)) return value;
      break;
    case "boolean":
      return value ? 1n : 0n;
    case "object":
      if (value === null || value instanceof Uint8Array) return value;
      if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
      break;
  }
  const problem = `A value for the database is ${kindOf(value)}.`;
  if (typeof value === "string") throw new ColumnValueError(null, problem);
  // The driver itself would store null for most of these.
  throw new AshlarError("E_INVALID_QUERY", `${problem} To store objects and lists, use the cast "json".`);
}
