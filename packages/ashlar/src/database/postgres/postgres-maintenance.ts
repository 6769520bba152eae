import { randomBytes } from "node:crypto";
import { CompiledQuery } from "kysely";
import type { DialectSetup } from "../dialect/dialect.ts";
import type { CreateDialect, DialectMaintenance, TestDatabase } from "../dialect/dialect-maintenance.ts";
import type { Executor, PhysicalConnection } from "../dialect/executor.ts";
import { PostgresClients } from "./postgres-clients.ts";
import { PostgresConnection } from "./postgres-connection.ts";
import { PostgresMigrationLock, PostgresTransactionLock } from "./postgres-migration-lock.ts";
import type { CompletePostgresSettings } from "./postgres-settings.ts";

/** The `search_path` decides which of several tables with the same name is found. */
const COLUMN_NAMES = `select attname as name from pg_catalog.pg_attribute
  where attrelid = to_regclass(replace(quote_ident($1), '.', '"."')) and attnum > 0 and not attisdropped`;

const IS_INVALID_INDEX = `select 1 from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
  where i.indrelid = to_regclass(replace(quote_ident($1), '.', '"."')) and c.relname = $2 and not i.indisvalid
    and not exists (select 1 from pg_catalog.pg_stat_progress_create_index p where p.index_relid = i.indexrelid)`;

/** The maintenance of PostgreSQL databases for migrations and tests. */
export class PostgresMaintenance implements DialectMaintenance {
  readonly columnNames: string = COLUMN_NAMES;
  readonly schemaIsTransactional = true;
  readonly onlineIndex: DialectMaintenance["onlineIndex"] = {
    keyword: "concurrently",
    option: "",
    isInvalid: IS_INVALID_INDEX,
  };
  readonly #settings: CompletePostgresSettings;
  readonly #place: Pick<DialectSetup, "where" | "root" | "maxQueueMs">;
  readonly #create: CreateDialect<CompletePostgresSettings>;
  readonly #migrationLock: PostgresMigrationLock | PostgresTransactionLock;

  /** @param migrationTimeoutMs how long to wait while another process migrates */
  constructor(
    settings: CompletePostgresSettings,
    setup: Pick<DialectSetup, "where" | "root" | "observer" | "maxQueueMs">,
    create: CreateDialect<CompletePostgresSettings>,
    migrationTimeoutMs?: number,
  ) {
    const { observer: _, ...place } = setup;
    this.#settings = settings;
    this.#place = place;
    this.#create = create;
    this.#migrationLock = settings.transactionPooling
      ? new PostgresTransactionLock(() => new PostgresClients(unlimited(settings), setup), migrationTimeoutMs)
      : new PostgresMigrationLock(migrationTimeoutMs);
  }

  /** Nothing to do: a referenced table can't be dropped, and columns are changed in place. */
  suspendForeignKeys(): void {}
  checkForeignKeys(): void {}
  resumeForeignKeys(): void {}

  async lockMigrations(connection: PhysicalConnection): Promise<void> {
    await this.#migrationLock.acquire(connection);
    await this.#limitStatements(connection, null);
  }

  async unlockMigrations(connection: PhysicalConnection): Promise<void> {
    await this.#limitStatements(connection, this.#settings.statementTimeoutMs);
    await this.#migrationLock.release(connection);
  }

  async limitLockWaits(connection: PhysicalConnection, timeoutMs: number | null): Promise<void> {
    await connection.execute(CompiledQuery.raw(`set local lock_timeout = ${timeoutMs ?? 0}`));
  }

  /** Sets the time limit for statements. Migrations have none, because an index on a large table takes minutes. */
  async #limitStatements(connection: PhysicalConnection, timeoutMs: number | null): Promise<void> {
    if (this.#settings.statementTimeoutMs === null || !(connection instanceof PostgresConnection)) return;
    const isOfSession = !this.#settings.transactionPooling;
    if (isOfSession) await connection.execute(CompiledQuery.raw(`set statement_timeout = ${timeoutMs ?? 0}`));
    connection.statementTimeoutMs = timeoutMs;
  }

  async dropEverything(connection: Executor): Promise<void> {
    // An extension's objects can only be dropped with the extension.
    const mine = (catalog: string) =>
      `not exists (select from pg_depend d where d.classid = '${catalog}'::regclass and d.objid = o.oid and d.deptype = 'e')`;
    const objects = `
      select case o.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' else 'table' end as kind,
        format('%I.%I', n.nspname, o.relname) as name,
        case o.relkind when 'S' then 2 else 1 end as turn
      from pg_class o join pg_namespace n on n.oid = o.relnamespace
      where n.nspname = current_schema() and o.relkind in ('r', 'p', 'v', 'm', 'S') and ${mine("pg_class")}
      union all
      select 'type', format('%I.%I', n.nspname, o.typname), 3
      from pg_type o join pg_namespace n on n.oid = o.typnamespace
      where n.nspname = current_schema() and o.typtype in ('e', 'd') and ${mine("pg_type")}
      order by turn`;
    const { rows } = await connection.execute(CompiledQuery.raw(objects));
    // Some may have been dropped along with others already.
    for (const { kind, name } of rows)
      await connection.execute(CompiledQuery.raw(`drop ${kind} if exists ${name} cascade`));
  }

  async emptyTables(connection: Executor, kept: readonly string[]): Promise<void> {
    const tables = `select tablename as table, format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname <> 'information_schema' and schemaname !~ '^pg_'`;
    const { rows } = await connection.execute(CompiledQuery.raw(tables));
    const names = rows.filter(({ table }) => !kept.includes(String(table))).map(({ name }) => name);
    if (names.length === 0) return;
    await connection.execute(CompiledQuery.raw(`truncate ${names.join(", ")} restart identity cascade`));
  }

  async createTestDatabase(): Promise<TestDatabase> {
    const database = `ashlar_test_${randomBytes(8).toString("hex")}`;
    await this.#administer(`create database ${database}`);
    const settings = { ...onDatabase(this.#settings, database), read: [] };
    return {
      dialect: (setup) => this.#create(settings, setup),
      remove: () => this.#administer(`drop database if exists ${database} with (force)`),
    };
  }

  /**
   * Runs a statement on a separate connection, because this dialect may already be closed, and because creating or
   * dropping a database may wait for a checkpoint, which can take longer than the application's time limit for
   * statements.
   */
  async #administer(text: string): Promise<void> {
    const server = this.#create(unlimited(this.#settings), { ...this.#place, observer: { notify: null } });
    try {
      await server.shared.execute(CompiledQuery.raw(text));
    } finally {
      await server.close();
    }
  }
}

/** The settings without the application's time limit for statements. */
function unlimited(settings: CompletePostgresSettings): CompletePostgresSettings {
  return { ...settings, statementTimeoutMs: null, read: [] };
}

function onDatabase(settings: CompletePostgresSettings, database: string): CompletePostgresSettings {
  if (settings.url === null) return { ...settings, database };
  const url = new URL(settings.url);
  url.pathname = `/${database}`;
  return { ...settings, url: url.href };
}
