import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import {
  CompiledQuery,
  type DropIndexNode,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from "kysely";
import {
  type ColumnValue,
  DatabaseError,
  type Dialect,
  type DialectSetup,
  type DialectSource,
  type Executor,
  ForeignKeyViolationError,
  NotNullViolationError,
  type Row,
  returningWrites,
  UniqueViolationError,
  UnknownColumnError,
  type Writes,
} from "../../src/public/database.ts";
import { AshlarError } from "../../src/public/index.ts";

type DialectValues = Dialect["values"];
type DialectTransactions = Dialect["transactions"];
type DialectMaintenance = Dialect["maintenance"];
type PhysicalConnection = Awaited<ReturnType<DialectTransactions["reserve"]>>["connection"];

/** A dialect that an application could write for an unsupported database: here, SQLite with one connection. */
export function oneConnection(path: string, acquireTimeoutMs = 5000): DialectSource {
  return (setup) => new OneConnectionDialect(path, acquireTimeoutMs, setup);
}

class OneConnectionDialect implements Dialect {
  readonly name = "one-connection";
  readonly isInMemory: boolean;
  readonly values: DialectValues = VALUES;
  readonly transactions: OneTransaction;
  readonly maintenance: DialectMaintenance;
  readonly shared: Executor;
  readonly #connection: OneConnection;

  constructor(path: string, acquireTimeoutMs: number, setup: DialectSetup) {
    this.isInMemory = path === ":memory:";
    this.#connection = new OneConnection(path, setup);
    this.transactions = new OneTransaction(this.#connection, acquireTimeoutMs);
    this.maintenance = new Maintenance(this.#connection, acquireTimeoutMs);
    this.shared = {
      execute: (query) => this.#alone(() => this.#connection.execute(query)),
      first: (text, value) => this.#alone(() => this.#connection.first(text, value)),
    };
  }

  async connect(): Promise<void> {
    this.#connection.run("select 1");
  }

  async close(): Promise<void> {
    if (await this.transactions.close()) this.#connection.close();
  }

  async #alone<T>(task: () => T): Promise<T> {
    const { release } = await this.transactions.reserve();
    try {
      return task();
    } finally {
      release();
    }
  }
}

const COLUMN_TYPES: DialectValues["columnTypes"] = {
  primaryKey: { type: "integer", define: (column) => column.primaryKey().autoIncrement() },
  reference: "integer",
  timestamp: "text",
  json: "text",
  longText: "text",
  now: sql`(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
};

class Compiler extends SqliteQueryCompiler {
  /** SQLite doesn't need the table's name to drop an index. */
  protected override visitDropIndex({ table: _, ...node }: DropIndexNode): void {
    super.visitDropIndex(node);
  }
}

const VALUES: DialectValues = {
  parsesJson: false,
  serverTime: null,
  ordersByNulls: false,
  columnTypes: COLUMN_TYPES,
  adapter: new SqliteAdapter(),
  compiler: new Compiler(),
  introspector: (kysely) => new SqliteIntrospector(kysely),
};

class OneTransaction implements DialectTransactions {
  readonly acquireTimeoutMs: number;
  readonly failureEndsTransaction = false;
  readonly writes: Writes = returningWrites;
  readonly #connection: OneConnection;
  readonly #turns: Turns;
  #closed = false;

  constructor(connection: OneConnection, acquireTimeoutMs: number) {
    this.#connection = connection;
    this.acquireTimeoutMs = acquireTimeoutMs;
    this.#turns = new Turns(acquireTimeoutMs);
  }

  async reserve(): Promise<{ connection: PhysicalConnection; release(): void }> {
    if (this.#closed) throw new DatabaseError("The database is closed.", null);
    const release = await this.#turns.take();
    return { connection: this.#connection, release };
  }

  begin(_: Executor, { readOnly }: { readonly readOnly?: boolean }): void {
    this.#connection.run(readOnly === true ? "begin" : "begin immediate");
    if (readOnly === true) this.#connection.run("pragma query_only = on");
  }

  commit(): void {
    this.#connection.run("commit");
    this.#connection.run("pragma query_only = off");
  }

  rollback(_: Executor, savepoint: string | null): void {
    if (savepoint === null) this.#connection.run("pragma query_only = off");
    const given = this.#connection.run("select name, seq from sqlite_sequence");
    if (savepoint === null) this.#connection.run("rollback");
    else this.#connection.run(`rollback to savepoint ${savepoint}`);
    if (savepoint !== null) this.#connection.run(`release savepoint ${savepoint}`);
    // No key is reused, not even a rolled-back row's.
    for (const { name, seq } of given) {
      this.#connection.run("delete from sqlite_sequence where name = ?", name as string);
      this.#connection.run("insert into sqlite_sequence (name, seq) values (?, ?)", name as string, seq as number);
    }
  }

  /** There is one transaction at a time. */
  lockRows<Query>(query: Query): Query {
    return query;
  }

  /** @returns whether it was open */
  async close(): Promise<boolean> {
    if (this.#closed) return false;
    this.#closed = true;
    (await this.#turns.take(null))();
    return true;
  }
}

class Maintenance implements DialectMaintenance {
  readonly columnNames = "select name from pragma_table_info(?)";
  readonly schemaIsTransactional = true;
  readonly onlineIndex = null;
  readonly limitLockWaits = null;
  readonly #connection: OneConnection;
  readonly #acquireTimeoutMs: number;

  constructor(connection: OneConnection, acquireTimeoutMs: number) {
    this.#connection = connection;
    this.#acquireTimeoutMs = acquireTimeoutMs;
  }

  suspendForeignKeys(): void {
    this.#connection.run("pragma foreign_keys = off");
  }

  checkForeignKeys(): void {
    const [broken] = this.#connection.run("pragma foreign_key_check");
    if (broken === undefined) return;
    throw new ForeignKeyViolationError({ table: String(broken.table), columns: [], constraint: null, cause: null });
  }

  resumeForeignKeys(): void {
    this.#connection.run("pragma foreign_keys = on");
  }

  /** A process that migrates already has the only connection. */
  lockMigrations(): void {}
  unlockMigrations(): void {}

  dropEverything(): void {
    const objects = "select type, name from sqlite_schema where type in ('view', 'table') and name not like 'sqlite%'";
    this.suspendForeignKeys();
    for (const { type, name } of this.#connection.run(`${objects} order by type desc`))
      this.#connection.run(`drop ${type} "${name}"`);
    this.resumeForeignKeys();
  }

  emptyTables(_: Executor, kept: readonly string[]): void {
    this.suspendForeignKeys();
    for (const { name } of this.#connection.run("select name from sqlite_schema where type = 'table'"))
      if (!kept.includes(String(name))) this.#connection.run(`delete from "${name}"`);
    this.resumeForeignKeys();
  }

  async createTestDatabase(): Promise<{ dialect: DialectSource; remove(): Promise<void> }> {
    return { dialect: oneConnection(":memory:", this.#acquireTimeoutMs), remove: async () => {} };
  }
}

/** Lends the only connection to one caller at a time. */
class Turns {
  readonly #timeoutMs: number;
  #last: Promise<void> = Promise.resolve();

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** @returns a function that ends the turn */
  async take(timeoutMs: number | null = this.#timeoutMs): Promise<() => void> {
    const before = this.#last;
    const own = Promise.withResolvers<void>();
    this.#last = before.then(() => own.promise);
    if (timeoutMs === null) {
      await before;
      return () => own.resolve();
    }
    const expired = Promise.withResolvers<never>();
    const timer = setTimeout(() => expired.reject(new AshlarError("E_OVERLOADED")), timeoutMs);
    try {
      await Promise.race([before, expired.promise]);
      return () => own.resolve();
    } catch (error) {
      own.resolve();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}

class OneConnection implements PhysicalConnection {
  failure: AshlarError | null = null;
  readonly #database: DatabaseSync;
  readonly #setup: DialectSetup;

  constructor(path: string, setup: DialectSetup) {
    this.#database = new DatabaseSync(path);
    this.#setup = setup;
  }

  execute({ sql: text, parameters }: CompiledQuery): QueryResult<Row> {
    this.#setup.observer.notify?.(text);
    return this.#translated(() => {
      const statement = this.#database.prepare(text);
      statement.setReadBigInts(true);
      if (statement.columns().length > 0) return { rows: statement.all(...parameters.map(bound)).map(narrowed) };
      return { rows: [], numAffectedRows: BigInt(statement.run(...parameters.map(bound)).changes) };
    });
  }

  first(text: string, value: ColumnValue): Row | undefined {
    return this.execute(CompiledQuery.raw(text, [value])).rows[0];
  }

  /** Runs the dialect's own statements. */
  run(text: string, ...values: SQLInputValue[]): Row[] {
    return this.execute(CompiledQuery.raw(text, values)).rows;
  }

  close(): void {
    this.#database.close();
  }

  #translated<T>(task: () => T): T {
    try {
      return task();
    } catch (error) {
      this.failure = error instanceof AshlarError ? error : translated(error as Error);
      throw this.failure;
    }
  }
}

function bound(value: unknown): SQLInputValue {
  if (value instanceof Date) return value.toISOString();
  // SQLite would store a different character.
  if (typeof value === "string" && !value.isWellFormed()) throw new AshlarError("E_INVALID_INPUT");
  if (typeof value === "boolean") return value ? 1 : 0;
  return Number.isSafeInteger(value) ? BigInt(value as number) : (value as SQLInputValue);
}

function narrowed(row: Row): Row {
  const entries = Object.entries(row).map(([name, value]) => {
    const isSafe = typeof value === "bigint" && Number.isSafeInteger(Number(value));
    return [name, isSafe ? Number(value) : value];
  });
  return Object.fromEntries(entries);
}

function translated({ message }: Error): AshlarError {
  const [, table = null, column = ""] = /constraint failed: (\w+)\.(\w+)/.exec(message) ?? [];
  const details = { table, columns: [column].filter((name) => name !== ""), constraint: null, cause: null };
  if (message.startsWith("UNIQUE")) return new UniqueViolationError(details);
  if (message.startsWith("FOREIGN KEY")) return new ForeignKeyViolationError(details);
  if (message.startsWith("NOT NULL")) return new NotNullViolationError(details);
  const unknown = /no column named (\w+)|no such column: "?(\w+)/.exec(message);
  if (unknown !== null) return new UnknownColumnError(message, [unknown[1] ?? unknown[2]!], null);
  return new DatabaseError(message, null);
}
