import {
  CompiledQuery,
  type DatabaseIntrospector,
  type Kysely,
  type QueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from "kysely";
import type { MaybePromise } from "../../support/index.ts";
import type { SqliteConnectionConfiguration } from "../configuration.ts";
import type {
  ColumnTypes,
  Dialect,
  Observer,
  PortableAdapter,
  Reservation,
  Session,
  TransactionOptions,
} from "../dialect.ts";
import { ForeignKeyViolationError } from "../errors.ts";
import { LockedSession } from "../locked-session.ts";
import { Mutex } from "../mutex.ts";
import { SqliteMigrationLock } from "./sqlite-migration-lock.ts";
import { SqliteSession } from "./sqlite-session.ts";
import { SqliteShared } from "./sqlite-shared.ts";

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
 * SQLite through `node:sqlite`, whose statements run synchronously: one connection that writes, and which a transaction
 * has to itself until it ends, and one for the reads outside of transactions, which wait for no one.
 *
 * Times are stored as ISO 8601 text in UTC, with milliseconds; booleans as 0 and 1. An integer arrives as a number, or
 * as a bigint where a number could not hold it exactly.
 */
export class SqliteDialect implements Dialect {
  readonly name = "sqlite";
  readonly parsesJson = false;
  readonly adapter: PortableAdapter = Object.assign(new SqliteAdapter(), { columnTypes: COLUMN_TYPES });
  readonly compiler: QueryCompiler = new SqliteQueryCompiler();
  readonly shared: SqliteShared;
  readonly #session: SqliteSession;
  readonly #mutex: Mutex;
  readonly #migrationLock: SqliteMigrationLock;

  constructor(configuration: SqliteConnectionConfiguration, observer: Observer) {
    this.#mutex = new Mutex(configuration.acquireTimeoutMs);
    this.#migrationLock = new SqliteMigrationLock(configuration.path);
    this.#session = new SqliteSession(configuration, observer, false);
    const line = new LockedSession(this.#session, this.#mutex);
    this.shared = new SqliteShared(this.#session, line, configuration, observer);
  }

  introspector(kysely: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(kysely);
  }

  async connect(): Promise<void> {
    this.shared.open();
  }

  reserve(): MaybePromise<Reservation> {
    const reservation: Reservation = { session: this.#session, release: () => this.#mutex.release() };
    const turn = this.#mutex.acquire();
    return turn === undefined ? reservation : turn.then(() => reservation);
  }

  async begin(session: Session, options: TransactionOptions): Promise<void> {
    // Immediate: a transaction that takes the write lock late cannot wait for another process any more, and would fail.
    await session.execute(CompiledQuery.raw(options.readOnly === true ? "begin" : "begin immediate"));
    this.#session.isBegun = true;
  }

  async commit(session: Session): Promise<void> {
    await session.execute(CompiledQuery.raw("commit"));
    this.#session.isBegun = false;
  }

  async rollback(session: Session, savepoint: string | null): Promise<void> {
    if (savepoint === null) this.#session.isBegun = false;
    // Some failures (a full disk, an I/O error) make SQLite roll back by itself.
    if (!this.#session.inTransaction) return;
    const keys = this.#session.keysGiven();
    if (savepoint === null) {
      await session.execute(CompiledQuery.raw("rollback"));
    } else {
      await session.execute(CompiledQuery.raw(`rollback to savepoint ${savepoint}`));
      await session.execute(CompiledQuery.raw(`release savepoint ${savepoint}`));
    }
    await this.#session.giveNoneAgain(keys);
  }

  /** Outside of a transaction only: inside of one SQLite ignores this setting, without a word. */
  async suspendForeignKeys(session: Session): Promise<void> {
    await session.execute(CompiledQuery.raw("pragma foreign_keys = off"));
  }

  async checkForeignKeys(session: Session): Promise<void> {
    const { rows } = await session.execute(CompiledQuery.raw("pragma foreign_key_check"));
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

  async resumeForeignKeys(session: Session): Promise<void> {
    await session.execute(CompiledQuery.raw("pragma foreign_keys = on"));
  }

  async lockMigrations(): Promise<void> {
    await this.#migrationLock.acquire();
  }

  unlockMigrations(): void {
    this.#migrationLock.release();
  }

  async dropEverything(session: Session): Promise<void> {
    const objects =
      "select type, name from sqlite_schema where type in ('view', 'table') and name not like 'sqlite\\_%' escape '\\'";
    // Views first; a virtual table takes the tables behind it along.
    const order = "order by type desc, sql like 'create virtual %' desc";
    await this.suspendForeignKeys(session);
    try {
      const { rows } = await session.execute(CompiledQuery.raw(`${objects} ${order}`));
      for (const { type, name } of rows) {
        await session.execute(CompiledQuery.raw(`drop ${type} if exists "${String(name).replaceAll('"', '""')}"`));
      }
    } finally {
      await this.resumeForeignKeys(session);
    }
  }

  async close(): Promise<void> {
    await this.#mutex.acquire(true);
    // The one that writes last: it puts the log back into the file.
    this.shared.close();
    this.#session.close();
    this.#mutex.release();
  }
}
