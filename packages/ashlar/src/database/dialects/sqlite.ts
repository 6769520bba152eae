import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { SQLInputValue, StatementSync } from "node:sqlite";
import {
  CompiledQuery,
  type DatabaseIntrospector,
  type Kysely,
  type QueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from "kysely";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import { BoundedCache } from "../bounded-cache.ts";
import { kindOf } from "../column-names.ts";
import type { SqliteConnectionConfiguration } from "../configuration.ts";
import type {
  ColumnTypes,
  ColumnValue,
  Dialect,
  Observer,
  PortableAdapter,
  Reservation,
  Row,
  Session,
  TransactionOptions,
} from "../dialect.ts";
import { DatabaseError, ForeignKeyViolationError } from "../errors.ts";
import { LockedSession } from "../locked-session.ts";
import { Mutex } from "../mutex.ts";
import { DatabaseSync } from "./node-sqlite.ts";
import { translateSqliteError } from "./sqlite-errors.ts";

/** How many prepared statements are kept: far more than an application has, where no list's length is in the SQL. */
const STATEMENTS_KEPT = 500;

/** How many rows that refer to nothing a message names. */
const VIOLATIONS_NAMED = 5;

const COLUMN_TYPES: ColumnTypes = {
  primaryKey: { type: "integer", define: (column) => column.primaryKey().autoIncrement() },
  reference: "integer",
  timestamp: "text",
  json: "text",
  // The very format of Date.prototype.toISOString, so that texts compare as times do.
  now: sql`(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
};

/**
 * SQLite through `node:sqlite`: one connection, whose statements run synchronously, and which a transaction has to
 * itself until it ends.
 *
 * Times are stored as ISO 8601 text in UTC, with milliseconds; booleans as 0 and 1. An integer arrives as a number, or
 * as a bigint where a number could not hold it exactly.
 */
export class SqliteDialect implements Dialect {
  readonly name = "sqlite";
  readonly parsesJson = false;
  readonly adapter: PortableAdapter = Object.assign(new SqliteAdapter(), { columnTypes: COLUMN_TYPES });
  readonly compiler: QueryCompiler = new SqliteQueryCompiler();
  readonly shared: Session;
  readonly #session: SqliteSession;
  readonly #mutex: Mutex;

  constructor(configuration: SqliteConnectionConfiguration, observer: Observer) {
    this.#mutex = new Mutex(configuration.acquireTimeoutMs);
    this.#session = new SqliteSession(configuration, observer);
    this.shared = new LockedSession(this.#session, this.#mutex);
  }

  introspector(kysely: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(kysely);
  }

  async connect(): Promise<void> {
    this.#session.open();
  }

  reserve(): MaybePromise<Reservation> {
    const reservation: Reservation = { session: this.#session, release: () => this.#mutex.release() };
    const turn = this.#mutex.acquire();
    return turn === undefined ? reservation : turn.then(() => reservation);
  }

  begin(session: Session, options: TransactionOptions): void {
    // Immediate: a transaction that takes the write lock late cannot wait for another process any more, and would fail.
    session.execute(CompiledQuery.raw(options.readOnly === true ? "begin" : "begin immediate"));
  }

  commit(session: Session): void {
    session.execute(CompiledQuery.raw("commit"));
  }

  rollback(session: Session, savepoint: string | null): void {
    // Some failures (a full disk, an I/O error) make SQLite roll back by itself.
    if (!this.#session.inTransaction) return;
    const keys = this.#session.keysGiven();
    if (savepoint === null) {
      session.execute(CompiledQuery.raw("rollback"));
    } else {
      session.execute(CompiledQuery.raw(`rollback to savepoint ${savepoint}`));
      session.execute(CompiledQuery.raw(`release savepoint ${savepoint}`));
    }
    this.#session.giveNoneAgain(keys);
  }

  /** Outside of a transaction only: inside of one SQLite ignores this setting, without a word. */
  suspendForeignKeys(session: Session): void {
    session.execute(CompiledQuery.raw("pragma foreign_keys = off"));
  }

  checkForeignKeys(session: Session): void {
    const { rows } = session.execute(CompiledQuery.raw("pragma foreign_key_check")) as QueryResult<Row>;
    if (rows.length === 0) return;
    const named = rows.slice(0, VIOLATIONS_NAMED).map(({ table, rowid, parent }) => {
      const row = rowid === null ? "a row" : `row ${rowid}`;
      return `${row} of "${table}" refers to a row of "${parent}" that does not exist`;
    });
    if (rows.length > VIOLATIONS_NAMED) named.push(`and ${rows.length - VIOLATIONS_NAMED} more`);
    const details = { table: String(rows[0]!.table), columns: [], constraint: null, cause: undefined };
    const remedy =
      "Foreign keys are off until the migration's end, so nothing cascades: change or delete these rows too.";
    throw new ForeignKeyViolationError(details, `${named.join("; ")}. ${remedy}`);
  }

  resumeForeignKeys(session: Session): void {
    session.execute(CompiledQuery.raw("pragma foreign_keys = on"));
  }

  /** Nothing to do: each migration begins with taking the file's write lock. */
  lockMigrations(): void {}
  unlockMigrations(): void {}

  dropEverything(session: Session): void {
    const objects =
      "select type, name from sqlite_schema where type in ('view', 'table') and name not like 'sqlite\\_%' escape '\\'";
    // Views first; a virtual table takes the tables behind it along.
    const order = "order by type desc, sql like 'create virtual %' desc";
    this.suspendForeignKeys(session);
    try {
      const { rows } = session.execute(CompiledQuery.raw(`${objects} ${order}`)) as QueryResult<Row>;
      for (const { type, name } of rows) {
        session.execute(CompiledQuery.raw(`drop ${type} if exists "${String(name).replaceAll('"', '""')}"`));
      }
    } finally {
      this.resumeForeignKeys(session);
    }
  }

  async close(): Promise<void> {
    await this.#mutex.acquire(true);
    this.#session.close();
    this.#mutex.release();
  }
}

interface PreparedStatement {
  readonly handle: StatementSync;
  /** Whether it gives rows. */
  readonly reads: boolean;
  /** Whether integers come out as bigints, to be made numbers where they fit. */
  bigints: boolean;
}

/** The one connection to the file. Whoever uses it sees to it that nobody else is in a transaction on it. */
class SqliteSession implements Session {
  readonly #configuration: SqliteConnectionConfiguration;
  readonly #observer: Observer;
  readonly #statements = new BoundedCache<PreparedStatement>(STATEMENTS_KEPT);
  #database: DatabaseSync | null = null;
  #closed = false;

  constructor(configuration: SqliteConnectionConfiguration, observer: Observer) {
    this.#configuration = configuration;
    this.#observer = observer;
  }

  get inTransaction(): boolean {
    return this.#database?.isTransaction ?? false;
  }

  execute(query: CompiledQuery): QueryResult<Row> {
    this.#observer.notify?.(query.sql);
    try {
      const statement = this.#prepared(query.sql);
      const values = query.parameters.map(bind);
      if (statement.reads) return { rows: this.#rows(statement, values) };
      const { changes, lastInsertRowid } = statement.handle.run(...values);
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
    } catch (error) {
      throw translateSqliteError(error);
    }
  }

  first(text: string, value: ColumnValue): Row | undefined {
    this.#observer.notify?.(text);
    try {
      const statement = this.#prepared(text);
      if (statement.bigints) return this.#rows(statement, [bind(value)])[0];
      try {
        return statement.handle.get(bind(value));
      } catch (error) {
        return this.#rowsWithBigints(error, statement, [bind(value)])[0];
      }
    } catch (error) {
      throw translateSqliteError(error);
    }
  }

  /** The largest key given so far, by table: of tables whose key is declared AUTOINCREMENT. */
  keysGiven(): ReadonlyMap<string, string> {
    try {
      // As text, which holds every integer.
      const { handle } = this.#prepared("select name, cast(seq as text) as seq from sqlite_sequence");
      return new Map(handle.all().map(({ name, seq }) => [String(name), String(seq)]));
    } catch {
      // No table is declared that way.
      return new Map();
    }
  }

  /**
   * Counts on from keys that were given before a rollback, as PostgreSQL does. SQLite would give them to other rows, and
   * they may be known by then: to a model, a log, a mail.
   */
  giveNoneAgain(given: ReadonlyMap<string, string>): void {
    const kept = this.keysGiven();
    for (const [table, key] of given) {
      if (kept.get(table) === key) continue;
      try {
        this.#raiseKey(table, key);
      } catch {
        // The file is full or locked. What failed is the transaction, and that is what is reported.
        return;
      }
    }
  }

  #raiseKey(table: string, key: string): void {
    const raise = "update sqlite_sequence set seq = max(seq, cast(? as integer)) where name = ?";
    if (Number(this.#prepared(raise).handle.run(key, table).changes) > 0) return;
    // The row of its first key went too; so may have the table.
    const add = `insert into sqlite_sequence (name, seq) select name, cast(? as integer) from sqlite_schema
      where type = 'table' and name = ?`;
    this.#prepared(add).handle.run(key, table);
  }

  open(): DatabaseSync {
    if (this.#database !== null) return this.#database;
    if (this.#closed) throw new DatabaseError("The connection to the database is closed.", null);
    const { path, busyTimeoutMs } = this.#configuration;
    try {
      if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true });
      const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
      // With a write-ahead log nobody who reads waits for one who writes, and NORMAL loses nothing but, on a power cut,
      // the last transactions; the file stays sound.
      database.exec("pragma journal_mode = wal; pragma synchronous = normal");
      this.#database = database;
      return database;
    } catch (error) {
      throw new DatabaseError(`The SQLite file ${path} cannot be opened: ${(error as Error).message}.`, null, error);
    }
  }

  close(): void {
    this.#closed = true;
    this.#database?.close();
    this.#database = null;
  }

  #prepared(text: string): PreparedStatement {
    const database = this.#database ?? this.open();
    return this.#statements.get(text, () => {
      const handle = database.prepare(text);
      // What stands after the first statement would be left out without a word.
      if (text.slice(handle.sourceSQL.length).trim() !== "") {
        throw new AshlarError("E_INVALID_QUERY", "SQLite runs one statement at a time. Split the SQL into several.");
      }
      const reads = handle.columns().length > 0;
      // A statement that writes and gives rows cannot be run again, so it reads large integers right the first time.
      const bigints = reads && !/^\s*select\b/i.test(text);
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

  /** Runs a SELECT once more where an integer of its rows was too large for a number. */
  #rowsWithBigints(error: unknown, statement: PreparedStatement, values: readonly SQLInputValue[]): Row[] {
    if ((error as NodeJS.ErrnoException).code !== "ERR_OUT_OF_RANGE") throw error;
    statement.handle.setReadBigInts(true);
    statement.bigints = true;
    return this.#rows(statement, values);
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

/** What SQLite stores for a value. */
function bind(value: unknown): SQLInputValue {
  switch (typeof value) {
    case "string":
    case "bigint":
      return value;
    case "number":
      // A number is bound as a floating-point one, which a text column would store as "1.0".
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
  // The driver itself would store null for most of these.
  const problem = `A value for the database is ${kindOf(value)}.`;
  throw new AshlarError("E_INVALID_QUERY", `${problem} Objects and lists are stored by the cast "json".`);
}
