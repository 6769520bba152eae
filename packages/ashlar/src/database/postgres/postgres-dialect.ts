import { randomBytes } from "node:crypto";
import {
  CompiledQuery,
  type DatabaseIntrospector,
  type DropIndexNode,
  type Expression,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryCompiler,
  type SelectQueryBuilder,
  sql,
} from "kysely";
import { ColumnValueError } from "../dialect/column-value-error.ts";
import type {
  ColumnTypes,
  ConnectionUsage,
  Dialect,
  DialectSetup,
  Executor,
  Observer,
  PhysicalConnection,
  PortableAdapter,
  Replicas,
  Reservation,
  RowLock,
  TestDatabase,
  TransactionOptions,
} from "../dialect/dialect.ts";
import { returningWrites } from "../dialect/returning-writes.ts";
import type { SchemaChange, SchemaRisk } from "../dialect/schema-change.ts";
import type { Writes } from "../dialect/writes.ts";
import { PostgresClients } from "./postgres-clients.ts";
import { PostgresConnection } from "./postgres-connection.ts";
import { POSTGRES_COPYING } from "./postgres-copying.ts";
import { afterFailure } from "./postgres-errors.ts";
import { PostgresMigrationLock, PostgresTransactionLock } from "./postgres-migration-lock.ts";
import { postgresSchemaRisk } from "./postgres-schema-risks.ts";
import { type CompletePostgresSettings, replicaSettings } from "./postgres-settings.ts";

const SERVER_TIME = sql<number>`floor(extract(epoch from statement_timestamp()) * 1000)::bigint`;

/** The `search_path` decides which of several tables with the same name is found. */
const COLUMN_NAMES = `select attname as name from pg_catalog.pg_attribute
  where attrelid = to_regclass(replace(quote_ident($1), '.', '"."')) and attnum > 0 and not attisdropped`;

const UNIQUE_COLUMN_NAMES = `select attname as name from pg_catalog.pg_index
  join pg_catalog.pg_attribute on attrelid = indrelid and attnum = indkey[0]
  where indrelid = to_regclass(replace(quote_ident($1), '.', '"."'))
    and indisunique and indnkeyatts = 1 and indpred is null and indexprs is null`;

/** An index that is being built is invalid too, until it is ready. */
const INVALID_INDEXES = `select ci.relname as name, ct.relname as "table" from pg_catalog.pg_index i
  join pg_catalog.pg_class ci on ci.oid = i.indexrelid join pg_catalog.pg_class ct on ct.oid = i.indrelid
  where not i.indisvalid and pg_catalog.pg_table_is_visible(ct.oid)
    and not exists (select 1 from pg_catalog.pg_stat_progress_create_index p where p.index_relid = i.indexrelid)
  order by 2, 1`;

const IS_INVALID_INDEX = `select 1 from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
  where i.indrelid = to_regclass(replace(quote_ident($1), '.', '"."')) and c.relname = $2 and not i.indisvalid
    and not exists (select 1 from pg_catalog.pg_stat_progress_create_index p where p.index_relid = i.indexrelid)`;

const COLUMN_TYPES: ColumnTypes = {
  primaryKey: { type: "bigint", define: (column) => column.generatedByDefaultAsIdentity().primaryKey() },
  reference: "bigint",
  timestamp: "timestamptz",
  json: "jsonb",
  longText: "text",
  now: sql`now()`,
};

/**
 * PostgreSQL through `pg`: a bounded pool; each transaction has its own connection.
 *
 * Times are `timestamptz` and arrive as `Date`. A `bigint` arrives as a number, or as a bigint if a number could not
 * hold it exactly; a `date` and a `numeric` as text.
 */
export class PostgresDialect implements Dialect {
  readonly name = "postgres";
  readonly acquireTimeoutMs: number;
  readonly parsesJson = true;
  readonly ordersByNulls = true;
  readonly failureEndsTransaction = true;
  readonly schemaIsTransactional = true;
  readonly isInMemory = false;
  readonly serverTime: Expression<number> = SERVER_TIME;
  readonly columnNames: string = COLUMN_NAMES;
  readonly uniqueColumnNames: string = UNIQUE_COLUMN_NAMES;
  readonly invalidIndexes: string = INVALID_INDEXES;
  readonly copying: NonNullable<Dialect["copying"]> = POSTGRES_COPYING;
  readonly adapter: PortableAdapter = Object.assign(new PostgresAdapter(), {
    columnTypes: COLUMN_TYPES,
    onlineIndex: { keyword: "concurrently", isInvalid: IS_INVALID_INDEX },
  });
  readonly compiler: QueryCompiler = new PostgresCompiler();
  readonly writes: Writes = returningWrites;
  readonly shared: Executor;
  readonly replicas: Replicas | null;
  readonly #settings: CompletePostgresSettings;
  readonly #place: Pick<DialectSetup, "where" | "root" | "maxQueueMs">;
  readonly #clients: PostgresClients;
  readonly #replicas: readonly PostgresClients[];
  readonly #migrationLock: PostgresMigrationLock | PostgresTransactionLock;

  /** @param migrationTimeoutMs how long migrations wait for those of another process */
  constructor(
    settings: CompletePostgresSettings,
    setup: Pick<DialectSetup, "where" | "root" | "observer" | "maxQueueMs">,
    migrationTimeoutMs?: number,
  ) {
    this.acquireTimeoutMs = settings.acquireTimeoutMs;
    this.#settings = settings;
    const { observer: _, ...place } = setup;
    this.#place = place;
    this.#clients = new PostgresClients(settings, setup);
    this.#replicas = settings.read.map(
      (_, n) => new PostgresClients(replicaSettings(settings, n), { ...setup, where: `${setup.where}.read` }),
    );
    const executors = this.#replicas.map((clients): Executor => executorOn(clients));
    const { ownWritesSeconds } = settings;
    this.replicas =
      executors.length === 0
        ? null
        : { executors, ownWritesSeconds, following: { position: () => positionOf(this.shared), hasReached } };
    this.#migrationLock = settings.transactionPooling
      ? new PostgresTransactionLock(() => new PostgresClients(unlimited(settings), setup), migrationTimeoutMs)
      : new PostgresMigrationLock(migrationTimeoutMs);
    this.shared = executorOn(this.#clients);
  }

  introspector(kysely: Kysely<unknown>): DatabaseIntrospector {
    return new PostgresIntrospector(kysely);
  }

  usage(): ConnectionUsage {
    return this.#clients.usage;
  }

  beside(poolSize: number, observer: Observer): Dialect {
    return new PostgresDialect({ ...this.#settings, poolSize, read: [] }, { ...this.#place, observer });
  }

  async connect(): Promise<void> {
    await this.#clients.borrow((connection) => connection.execute(CompiledQuery.raw("select 1")));
  }

  async reserve(): Promise<Reservation> {
    return await this.#clients.reserve();
  }

  async begin(connection: PhysicalConnection, { isolation, readOnly }: TransactionOptions): Promise<void> {
    const words = ["begin"];
    if (isolation !== undefined) words.push(`isolation level ${isolation}`);
    if (readOnly === true) words.push("read only");
    const own = connection instanceof PostgresConnection ? connection : null;
    const timeoutMs = this.#settings.transactionPooling ? (own?.statementTimeoutMs ?? null) : null;
    // In one message, so that it costs no time.
    const limit = timeoutMs === null ? "" : `; set local statement_timeout = ${timeoutMs}`;
    await connection.execute(CompiledQuery.raw(`${words.join(" ")}${limit}`));
    if (own !== null) own.isReadOnly = readOnly === true;
  }

  async commit(connection: PhysicalConnection): Promise<void> {
    const { rows } = await connection.execute(CompiledQuery.raw("commit"));
    if (rows[0]!.command !== "ROLLBACK") return;
    // If a statement failed, the server rolls back on commit, and reports success.
    throw afterFailure(connection.failure, "The transaction was rolled back, because a statement in it had failed");
  }

  async rollback(connection: Executor, savepoint: string | null): Promise<void> {
    if (savepoint === null) return void (await connection.execute(CompiledQuery.raw("rollback")));
    await connection.execute(CompiledQuery.raw(`rollback to savepoint ${savepoint}`));
    await connection.execute(CompiledQuery.raw(`release savepoint ${savepoint}`));
  }

  lockRows<DB, T extends keyof DB, O>(
    query: SelectQueryBuilder<DB, T, O>,
    against: RowLock,
  ): SelectQueryBuilder<DB, T, O> {
    if (against === "reference") return query.forKeyShare();
    return against === "skip" ? query.forUpdate().skipLocked() : query.forUpdate();
  }

  /** Nothing to do: a table that is referred to cannot be dropped, and columns are changed in place. */
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

  /** A migration may take long: an index of a large table takes minutes. */
  async #limitStatements(connection: PhysicalConnection, timeoutMs: number | null): Promise<void> {
    if (this.#settings.statementTimeoutMs === null || !(connection instanceof PostgresConnection)) return;
    const isOfSession = !this.#settings.transactionPooling;
    if (isOfSession) await connection.execute(CompiledQuery.raw(`set statement_timeout = ${timeoutMs ?? 0}`));
    connection.statementTimeoutMs = timeoutMs;
  }

  schemaRisk(change: SchemaChange): SchemaRisk | null {
    return postgresSchemaRisk(change);
  }

  async dropEverything(connection: Executor): Promise<void> {
    // What belongs to an extension can only be dropped with the extension.
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
    // Only what has not been dropped along with something else is left to drop.
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
      dialect: (setup) => new PostgresDialect(settings, setup),
      remove: () => this.#administer(`drop database if exists ${database} with (force)`),
    };
  }

  /**
   * Runs a statement on a separate connection, because this dialect may already be closed, and because creating or
   * dropping a database may wait for a checkpoint, for longer than the application allows for its statements.
   */
  async #administer(text: string): Promise<void> {
    const server = new PostgresDialect(unlimited(this.#settings), { ...this.#place, observer: { notify: null } });
    try {
      await server.shared.execute(CompiledQuery.raw(text));
    } finally {
      await server.close();
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#clients, ...this.#replicas].map((clients) => clients.close()));
  }
}

class PostgresCompiler extends PostgresQueryCompiler {
  /** The table, which other databases need, is not part of the statement. */
  protected override visitDropIndex({ table: _, ...node }: DropIndexNode): void {
    super.visitDropIndex(node);
  }
}

/** For work that may take longer than the application allows for its statements. */
function unlimited(settings: CompletePostgresSettings): CompletePostgresSettings {
  return { ...settings, statementTimeoutMs: null, read: [] };
}

/** Runs each statement on any free connection. */
/**
 * Where the primary's log ends. https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-ADMIN-BACKUP
 */
async function positionOf(primary: Executor): Promise<string | null> {
  const { rows } = await primary.execute(CompiledQuery.raw("select pg_current_wal_lsn()::text as position"));
  return (rows[0]?.position ?? null) as string | null;
}

/** Whether a standby has replayed the primary's log up to there. A server that replays no log, such as one that was promoted, can't tell. */
async function hasReached(standby: Executor, position: string): Promise<boolean | null> {
  const text = `select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() >= $1::pg_lsn end as reached`;
  const { rows } = await standby.execute(CompiledQuery.raw(text, [position]));
  return (rows[0]?.reached ?? null) as boolean | null;
}

function executorOn(clients: PostgresClients): Executor {
  return {
    execute: (query) => clients.borrow((connection) => connection.execute(query)),
    async first(text, value) {
      try {
        return await clients.borrow((connection) => connection.first(text, value));
      } catch (error) {
        // "abc" is not the number of any row: on other databases that finds nothing, so it does here too.
        if (error instanceof ColumnValueError) return undefined;
        throw error;
      }
    },
  };
}

function onDatabase(settings: CompletePostgresSettings, database: string): CompletePostgresSettings {
  if (settings.url === null) return { ...settings, database };
  const url = new URL(settings.url);
  url.pathname = `/${database}`;
  return { ...settings, url: url.href };
}
