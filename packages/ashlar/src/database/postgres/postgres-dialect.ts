import { CompiledQuery } from "kysely";
import { ColumnValueError } from "../dialect/column-names.ts";
import type { ConnectionUsage, Dialect, DialectSetup, Observer, Replicas } from "../dialect/dialect.ts";
import type { DialectCopying } from "../dialect/dialect-copying.ts";
import type { DialectInspection } from "../dialect/dialect-inspection.ts";
import type { DialectValues } from "../dialect/dialect-values.ts";
import type { Executor } from "../dialect/executor.ts";
import { PostgresClients } from "./postgres-clients.ts";
import { POSTGRES_VALUES } from "./postgres-columns.ts";
import { POSTGRES_COPYING } from "./postgres-copying.ts";
import { PostgresMaintenance } from "./postgres-maintenance.ts";
import { schemaRisk } from "./postgres-schema-risks.ts";
import { type CompletePostgresSettings, replicaSettings } from "./postgres-settings.ts";
import { PostgresTransactions } from "./postgres-transactions.ts";

const UNIQUE_COLUMN_NAMES = `select attname as name from pg_catalog.pg_index
  join pg_catalog.pg_attribute on attrelid = indrelid and attnum = indkey[0]
  where indrelid = to_regclass(replace(quote_ident($1), '.', '"."'))
    and indisunique and indnkeyatts = 1 and indpred is null and indexprs is null`;

/** Leaves out indexes that are still being built, which count as invalid until they are ready. */
const INVALID_INDEXES = `select ci.relname as name, ct.relname as "table" from pg_catalog.pg_index i
  join pg_catalog.pg_class ci on ci.oid = i.indexrelid join pg_catalog.pg_class ct on ct.oid = i.indrelid
  where not i.indisvalid and pg_catalog.pg_table_is_visible(ct.oid)
    and not exists (select 1 from pg_catalog.pg_stat_progress_create_index p where p.index_relid = i.indexrelid)
  order by 2, 1`;

/** The queries that inspect PostgreSQL's tables. */
const INSPECTION: DialectInspection = {
  uniqueColumnNames: UNIQUE_COLUMN_NAMES,
  looseText: null,
  plainTables: null,
  invalidIndexes: INVALID_INDEXES,
  schemaRisk,
};

/**
 * PostgreSQL through `pg`, with a bounded pool. Each transaction has its own connection.
 *
 * Times are `timestamptz` and arrive as `Date`. A `bigint` arrives as a number, or as a bigint if a number could not
 * hold it exactly; a `date` and a `numeric` as text.
 */
export class PostgresDialect implements Dialect {
  readonly name = "postgres";
  readonly isInMemory = false;
  readonly values: DialectValues = POSTGRES_VALUES;
  readonly transactions: PostgresTransactions;
  readonly maintenance: PostgresMaintenance;
  readonly inspection: DialectInspection = INSPECTION;
  readonly copying: DialectCopying = POSTGRES_COPYING;
  readonly shared: Executor;
  readonly replicas: Replicas | null;
  readonly #settings: CompletePostgresSettings;
  readonly #place: Pick<DialectSetup, "where" | "root" | "maxQueueMs">;
  readonly #clients: PostgresClients;
  readonly #replicas: readonly PostgresClients[];

  /** @param migrationTimeoutMs how long to wait while another process migrates */
  constructor(
    settings: CompletePostgresSettings,
    setup: Pick<DialectSetup, "where" | "root" | "observer" | "maxQueueMs">,
    migrationTimeoutMs?: number,
  ) {
    this.#settings = settings;
    const { observer: _, ...place } = setup;
    this.#place = place;
    this.#clients = new PostgresClients(settings, setup);
    this.transactions = new PostgresTransactions(this.#clients, settings);
    this.maintenance = new PostgresMaintenance(
      settings,
      setup,
      (...given) => new PostgresDialect(...given),
      migrationTimeoutMs,
    );
    this.#replicas = settings.read.map(
      (_, n) => new PostgresClients(replicaSettings(settings, n), { ...setup, where: `${setup.where}.read` }),
    );
    const executors = this.#replicas.map((clients): Executor => executorOn(clients));
    const { ownWritesSeconds } = settings;
    this.replicas =
      executors.length === 0
        ? null
        : { executors, ownWritesSeconds, following: { position: () => positionOf(this.shared), hasReached } };
    this.shared = executorOn(this.#clients);
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

  async close(): Promise<void> {
    await Promise.all([this.#clients, ...this.#replicas].map((clients) => clients.close()));
  }
}

/**
 * The end of the primary's log. https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-ADMIN-BACKUP
 */
async function positionOf(primary: Executor): Promise<string | null> {
  const { rows } = await primary.execute(CompiledQuery.raw("select pg_current_wal_lsn()::text as position"));
  return (rows[0]?.position ?? null) as string | null;
}

/**
 * Whether a standby has replayed the primary's log up to a position; `null` if the server doesn't replay a log, for
 * example because it was promoted.
 */
async function hasReached(standby: Executor, position: string): Promise<boolean | null> {
  const text = `select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() >= $1::pg_lsn end as reached`;
  const { rows } = await standby.execute(CompiledQuery.raw(text, [position]));
  return (rows[0]?.reached ?? null) as boolean | null;
}

/** Runs each statement on whichever connection is free. */
function executorOn(clients: PostgresClients): Executor {
  return {
    execute: (query) => clients.borrow((connection) => connection.execute(query)),
    async first(text, value) {
      try {
        return await clients.borrow((connection) => connection.first(text, value));
      } catch (error) {
        // No row has the number "abc". Other databases find nothing in this case, and so does this one.
        if (error instanceof ColumnValueError) return undefined;
        throw error;
      }
    },
  };
}
