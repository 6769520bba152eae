import { CompiledQuery } from "kysely";
import type { Dialect, Observer } from "../dialect/dialect.ts";
import type { DialectMaintenance, TestDatabase } from "../dialect/dialect-maintenance.ts";
import type { Executor } from "../dialect/executor.ts";
import { ForeignKeyViolationError } from "../errors.ts";
import type { CompleteSqliteSettings } from "./sqlite.ts";
import { IN_MEMORY } from "./sqlite-file.ts";
import { SqliteMigrationLock } from "./sqlite-migration-lock.ts";

/** How many rows with invalid references a message lists. */
const VIOLATIONS_NAMED = 5;

/** The maintenance of SQLite files for migrations and tests. */
export class SqliteMaintenance implements DialectMaintenance {
  readonly columnNames = "select name from pragma_table_info(?)";
  readonly schemaIsTransactional = true;
  readonly onlineIndex = null;
  readonly limitLockWaits = null;
  readonly #settings: CompleteSqliteSettings;
  readonly #migrationLock: SqliteMigrationLock;
  readonly #create: (settings: CompleteSqliteSettings, observer: Observer) => Dialect;

  /** @param create creates another dialect, for a test database */
  constructor(
    settings: CompleteSqliteSettings,
    create: (settings: CompleteSqliteSettings, observer: Observer) => Dialect,
  ) {
    this.#settings = settings;
    this.#migrationLock = new SqliteMigrationLock(settings.path);
    this.#create = create;
  }

  /** Must be called outside of a transaction. Inside one, SQLite silently ignores the setting. */
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

  async dropEverything(connection: Executor): Promise<void> {
    const objects =
      "select type, name from sqlite_schema where type in ('view', 'table') and name not like 'sqlite\\_%' escape '\\'";
    // Views come first. Dropping a virtual table drops its underlying tables too.
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
        // Of SQLite's own tables, only `sqlite_sequence`, which counts keys, is emptied.
        if (kept.includes(name) || (name.startsWith("sqlite_") && name !== "sqlite_sequence")) continue;
        await connection.execute(CompiledQuery.raw(`delete from ${quoted(name)}`));
      }
    } finally {
      await this.resumeForeignKeys(connection);
    }
  }

  async createTestDatabase(): Promise<TestDatabase> {
    const settings = { ...this.#settings, path: IN_MEMORY };
    return { dialect: ({ observer }) => this.#create(settings, observer), remove: async () => {} };
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
