import {
  CompiledQuery,
  type DatabaseIntrospector,
  type DropIndexNode,
  type Kysely,
  type QueryCompiler,
  type SelectQueryBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from "kysely";
import type { MaybePromise } from "../../support/index.ts";
import type {
  ColumnTypes,
  ConnectionUsage,
  Dialect,
  Executor,
  Observer,
  PortableAdapter,
  Reservation,
  TestDatabase,
  TransactionOptions,
} from "../dialect/dialect.ts";
import { returningWrites } from "../dialect/returning-writes.ts";
import type { SchemaChange, SchemaRisk } from "../dialect/schema-change.ts";
import type { Writes } from "../dialect/writes.ts";
import { ForeignKeyViolationError } from "../errors.ts";
import { LockedExecutor } from "../executors/locked-executor.ts";
import { Mutex } from "../mutex.ts";
import type { CompleteSqliteSettings } from "./sqlite.ts";
import { SqliteConnection } from "./sqlite-connection.ts";
import { SQLITE_COPYING } from "./sqlite-copying.ts";
import { IN_MEMORY } from "./sqlite-file.ts";
import { SqliteMigrationLock } from "./sqlite-migration-lock.ts";
import { sqliteSchemaRisk } from "./sqlite-schema-risks.ts";
import { SqliteShared } from "./sqlite-shared.ts";

/** How many rows with broken references a message lists. */
const VIOLATIONS_NAMED = 5;

const COLUMN_TYPES: ColumnTypes = {
  primaryKey: { type: "integer", define: (column) => column.primaryKey().autoIncrement() },
  reference: "integer",
  timestamp: "text",
  json: "text",
  longText: "text",
  // Exactly the format of Date.prototype.toISOString, so that texts compare like times.
  now: sql`(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
};

/**
 * SQLite through `node:sqlite`, whose statements run synchronously: one connection that writes, which a transaction has
 * to itself until it ends, and one for reads outside of transactions, which never wait.
 *
 * Times are stored as ISO 8601 text in UTC, with milliseconds; booleans as 0 and 1. An integer arrives as a number, or
 * as a bigint if a number could not hold it exactly.
 */
export class SqliteDialect implements Dialect {
  readonly name = "sqlite";
  readonly acquireTimeoutMs: number;
  readonly parsesJson = false;
  readonly failureEndsTransaction = false;
  readonly schemaIsTransactional = true;
  readonly file: string | null;
  readonly isInMemory: boolean;
  readonly serverTime = null;
  readonly columnNames = "select name from pragma_table_info(?)";
  readonly uniqueColumnNames =
    `select min(info.name) as name from pragma_index_list(?) as list, pragma_index_info(list.name) as info
    where list."unique" = 1 and list.partial = 0 group by list.name having count(*) = 1`;
  readonly copying: NonNullable<Dialect["copying"]> = SQLITE_COPYING;
  readonly adapter: PortableAdapter = Object.assign(new SqliteAdapter(), { columnTypes: COLUMN_TYPES });
  readonly compiler: QueryCompiler = new SqliteCompiler();
  readonly writes: Writes = returningWrites;
  readonly shared: SqliteShared;
  readonly #connection: SqliteConnection;
  readonly #settings: CompleteSqliteSettings;
  readonly #mutex: Mutex;
  readonly #migrationLock: SqliteMigrationLock;

  constructor(settings: CompleteSqliteSettings, observer: Observer) {
    this.acquireTimeoutMs = settings.acquireTimeoutMs;
    this.isInMemory = settings.path === IN_MEMORY;
    this.file = this.isInMemory ? null : settings.path;
    this.#settings = settings;
    this.#mutex = new Mutex(settings.acquireTimeoutMs, settings.maxWaiting);
    this.#migrationLock = new SqliteMigrationLock(settings.path);
    this.#connection = new SqliteConnection(settings, observer, { waitedMs: () => this.#mutex.waitedMs });
    const line = new LockedExecutor(this.#connection, this.#mutex);
    this.shared = new SqliteShared(this.#connection, line, settings, observer);
  }

  introspector(kysely: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(kysely);
  }

  usage(): ConnectionUsage {
    return { limit: 1, open: 1, used: this.#mutex.free ? 0 : 1, waiting: this.#mutex.waiting };
  }

  async connect(): Promise<void> {
    await this.#connection.connect();
    this.shared.open();
  }

  reserve(): MaybePromise<Reservation> {
    const reservation: Reservation = { connection: this.#connection, release: () => this.#mutex.release() };
    const turn = this.#mutex.acquire();
    return turn === undefined ? reservation : turn.then(() => reservation);
  }

  async begin(connection: Executor, options: TransactionOptions): Promise<void> {
    // Immediate: a transaction that takes the write lock later could no longer wait for another process, and would
    // fail.
    const readOnly = options.readOnly === true;
    await connection.execute(CompiledQuery.raw(readOnly ? "begin" : "begin immediate"));
    this.#connection.isBegun = true;
    this.#connection.refuseWrites(readOnly);
  }

  async commit(connection: Executor): Promise<void> {
    await connection.execute(CompiledQuery.raw("commit"));
    this.#ended();
  }

  async rollback(connection: Executor, savepoint: string | null): Promise<void> {
    if (savepoint === null) this.#ended();
    // After some failures (a full disk, an I/O error), SQLite rolls back by itself.
    if (!this.#connection.inTransaction) return;
    const keys = this.#connection.keysGiven();
    if (savepoint === null) {
      await connection.execute(CompiledQuery.raw("rollback"));
    } else {
      await connection.execute(CompiledQuery.raw(`rollback to savepoint ${savepoint}`));
      await connection.execute(CompiledQuery.raw(`release savepoint ${savepoint}`));
    }
    await this.#connection.giveNoneAgain(keys);
  }

  #ended(): void {
    this.#connection.isBegun = false;
    this.#connection.refuseWrites(false);
  }

  /** A transaction that writes has locked the file. */
  lockRows<DB, T extends keyof DB, O>(query: SelectQueryBuilder<DB, T, O>): SelectQueryBuilder<DB, T, O> {
    return query;
  }

  /** Only outside of transactions: inside one, SQLite silently ignores this setting. */
  async suspendForeignKeys(connection: Executor): Promise<void> {
    await connection.execute(CompiledQuery.raw("pragma foreign_keys = off"));
  }

  async checkForeignKeys(connection: Executor): Promise<void> {
    const { rows } = await connection.execute(CompiledQuery.raw("pragma foreign_key_check"));
    if (rows.length === 0) return;
    const named = rows.slice(0, VIOLATIONS_NAMED).map(({ table, rowid, parent }) => {
      const row = rowid === null ? "a row" : `row ${rowid}`;
      return `${row} of "${table}" refers to a row of "${parent}" that does not exist`;
    });
    if (rows.length > VIOLATIONS_NAMED) named.push(`and ${rows.length - VIOLATIONS_NAMED} more`);
    const details = { table: String(rows[0]!.table), columns: [], constraint: null, cause: undefined };
    const remedy =
      "Foreign keys are off until the end of the migration, so nothing cascades: change or delete these rows too.";
    throw new ForeignKeyViolationError(details, `${named.join("; ")}. ${remedy}`);
  }

  async resumeForeignKeys(connection: Executor): Promise<void> {
    await connection.execute(CompiledQuery.raw("pragma foreign_keys = on"));
  }

  async lockMigrations(): Promise<void> {
    await this.#migrationLock.acquire();
  }

  unlockMigrations(): void {
    this.#migrationLock.release();
  }

  schemaRisk(change: SchemaChange): SchemaRisk | null {
    return sqliteSchemaRisk(change);
  }

  async dropEverything(connection: Executor): Promise<void> {
    const objects =
      "select type, name from sqlite_schema where type in ('view', 'table') and name not like 'sqlite\\_%' escape '\\'";
    // Views first; dropping a virtual table drops its underlying tables too.
    const order = "order by type desc, sql like 'create virtual %' desc";
    await this.suspendForeignKeys(connection);
    try {
      const { rows } = await connection.execute(CompiledQuery.raw(`${objects} ${order}`));
      for (const { type, name } of rows) {
        await connection.execute(CompiledQuery.raw(`drop ${type} if exists ${quoted(String(name))}`));
      }
    } finally {
      await this.resumeForeignKeys(connection);
    }
  }

  async emptyTables(connection: Executor, kept: readonly string[]): Promise<void> {
    const tables = "select name from sqlite_schema where type = 'table' and sql not like 'create virtual %'";
    // The order does not matter, because all rows are deleted.
    await this.suspendForeignKeys(connection);
    try {
      const { rows } = await connection.execute(CompiledQuery.raw(tables));
      for (const name of rows.map((row) => String(row.name))) {
        // Among SQLite's own tables, the one that counts keys.
        if (kept.includes(name) || (name.startsWith("sqlite_") && name !== "sqlite_sequence")) continue;
        await connection.execute(CompiledQuery.raw(`delete from ${quoted(name)}`));
      }
    } finally {
      await this.resumeForeignKeys(connection);
    }
  }

  async createTestDatabase(): Promise<TestDatabase> {
    const settings = { ...this.#settings, path: IN_MEMORY };
    return { dialect: ({ observer }) => new SqliteDialect(settings, observer), remove: async () => {} };
  }

  async close(): Promise<void> {
    await this.#mutex.acquire(true);
    // The writing connection is closed last: it moves the log back into the file.
    this.shared.close();
    this.#connection.close();
    this.#mutex.release();
  }
}

class SqliteCompiler extends SqliteQueryCompiler {
  /** The table, which other databases need, is not part of the statement. */
  protected override visitDropIndex({ table: _, ...node }: DropIndexNode): void {
    super.visitDropIndex(node);
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
