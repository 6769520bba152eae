import { CompiledQuery } from "kysely";
import type { MaybePromise } from "../../support/index.ts";
import type { ConnectionUsage, Dialect, DialectSetup, Observer, Replicas } from "../dialect/dialect.ts";
import type { DialectCopying } from "../dialect/dialect-copying.ts";
import type { DialectInspection } from "../dialect/dialect-inspection.ts";
import type { Reservation } from "../dialect/dialect-transactions.ts";
import type { DialectValues } from "../dialect/dialect-values.ts";
import type { Executor } from "../dialect/executor.ts";
import { tlsOptions } from "../dialect/tls-settings.ts";
import type { MariadbClient } from "./mariadb-client.ts";
import { MARIADB_VALUES } from "./mariadb-columns.ts";
import { BYTE_BY_BYTE } from "./mariadb-compiler.ts";
import { MariadbConnection } from "./mariadb-connection.ts";
import { MARIADB_COPYING } from "./mariadb-copying.ts";
import { translateMariadbError } from "./mariadb-errors.ts";
import { COLUMN_NAMES, MariadbMaintenance } from "./mariadb-maintenance.ts";
import { type LoadMysql, MariadbPool } from "./mariadb-pool.ts";
import { schemaRisk } from "./mariadb-schema-risks.ts";
import { type CompleteMariadbSettings, replicaSettings } from "./mariadb-settings.ts";
import { MariadbTransactions } from "./mariadb-transactions.ts";

/** Options for tests. */
export interface MariadbDialectOptions {
  /** How long migrations wait for another process's migrations, in milliseconds. */
  readonly migrationTimeoutMs?: number;
  /** Imports the driver. */
  readonly load?: LoadMysql;
  /** Whether inserts and deletions can return their rows; default: according to the server's version. */
  readonly hasReturning?: boolean;
}

/** Leaves out indexes on a column's prefix, which don't make its values unique. */
const UNIQUE_COLUMN_NAMES = `select max(column_name) as name from information_schema.statistics
  where table_schema = database() and table_name = ? and non_unique = 0
  group by index_name having count(*) = 1 and max(sub_part) is null and max(column_name) is not null`;

const LOOSE_TEXT = {
  columnNames: `${COLUMN_NAMES} and collation_name not like '%bin'`,
  mend: (table: string) => `alter table ${table} convert to ${BYTE_BY_BYTE.trim()}`,
};

const PLAIN_TABLES = {
  names: `select table_name as name from information_schema.tables join information_schema.engines using (engine)
    where table_schema = database() and table_type = 'BASE TABLE' and coalesce(transactions, 'NO') <> 'YES' order by table_name`,
  mend: (table: string) => `alter table "${table}" engine=InnoDB`,
};

/** The queries that inspect tables of MariaDB and MySQL. */
const INSPECTION: DialectInspection = {
  uniqueColumnNames: UNIQUE_COLUMN_NAMES,
  looseText: LOOSE_TEXT,
  plainTables: PLAIN_TABLES,
  invalidIndexes: null,
  schemaRisk,
};

/**
 * MariaDB or MySQL through `mysql2`, with a bounded number of connections. Each transaction has its own connection.
 *
 * Times are `datetime(3)` in UTC and arrive as `Date`. A `bigint` arrives as a number, or as a bigint if a number could
 * not hold it exactly; a `date`, a `decimal` and JSON as text.
 */
export class MariadbDialect implements Dialect {
  readonly name = "mariadb";
  readonly isInMemory = false;
  readonly values: DialectValues = MARIADB_VALUES;
  readonly transactions: MariadbTransactions;
  readonly maintenance: MariadbMaintenance;
  readonly inspection: DialectInspection = INSPECTION;
  readonly copying: DialectCopying = MARIADB_COPYING;
  readonly shared: Executor;
  readonly replicas: Replicas | null;
  readonly #settings: CompleteMariadbSettings;
  readonly #setup: Pick<DialectSetup, "where" | "root" | "maxQueueMs">;
  readonly #observer: Observer;
  readonly #pool: MariadbPool;
  readonly #replicas: readonly MariadbDialect[];

  constructor(
    settings: CompleteMariadbSettings,
    { where, root, observer, maxQueueMs = 0 }: Pick<DialectSetup, "where" | "root" | "observer" | "maxQueueMs">,
    { migrationTimeoutMs, load, hasReturning }: MariadbDialectOptions = {},
  ) {
    this.#settings = settings;
    this.#setup = { where, root, maxQueueMs };
    this.#observer = observer;
    this.#pool = new MariadbPool(
      { settings, ssl: settings.tls ? tlsOptions(settings.tls, { where, root }) : null, where, maxQueueMs },
      load,
    );
    this.transactions = new MariadbTransactions(
      settings.acquireTimeoutMs,
      () => this.#reserve(),
      () => hasReturning ?? this.#hasReturning(),
    );
    this.maintenance = new MariadbMaintenance(
      settings,
      this.#setup,
      (...given) => new MariadbDialect(...given),
      migrationTimeoutMs,
    );
    this.shared = {
      execute: (query) => this.#borrow((connection) => connection.execute(query)),
      first: (text, value) => this.#borrow((connection) => connection.first(text, value)),
    };
    const loading = load === undefined ? {} : { load };
    this.#replicas = settings.read.map(
      (_, n) =>
        new MariadbDialect(
          replicaSettings(settings, n),
          { where: `${where}.read`, root, observer, maxQueueMs },
          loading,
        ),
    );
    const executors = this.#replicas.map(({ shared }) => shared);
    this.replicas = executors.length === 0 ? null : { executors, ownWritesSeconds: settings.ownWritesSeconds };
  }

  usage(): ConnectionUsage {
    return this.#pool.usage;
  }

  beside(poolSize: number, observer: Observer): Dialect {
    return new MariadbDialect({ ...this.#settings, poolSize, read: [] }, { ...this.#setup, observer });
  }

  async connect(): Promise<void> {
    await this.shared.execute(CompiledQuery.raw("select 1"));
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool, ...this.#replicas].map((each) => each.close()));
  }

  async #reserve(): Promise<Reservation> {
    const client = await this.#client();
    const connection = new MariadbConnection(client, this.#observer);
    return { connection, release: (isBroken) => this.#pool.giveBack(client, isBroken || connection.isBroken) };
  }

  async #borrow<T>(task: (connection: MariadbConnection) => Promise<T>): Promise<T> {
    const { connection, release } = await this.#reserve();
    try {
      return await task(connection as MariadbConnection);
    } finally {
      release(false);
    }
  }

  #hasReturning(): MaybePromise<boolean> {
    const server = this.#pool.server();
    return server instanceof Promise ? server.then(({ hasReturning }) => hasReturning) : server.hasReturning;
  }

  async #client(): Promise<MariadbClient> {
    try {
      return await this.#pool.take();
    } catch (error) {
      throw translateMariadbError(error, "MariaDB or MySQL", this.#setup);
    }
  }
}
