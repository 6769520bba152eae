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
import { MariadbConnection } from "./mariadb-connection.ts";
import { MARIADB_COPYING } from "./mariadb-copying.ts";
import { MARIADB_VALUES } from "./mariadb-dialect-values.ts";
import { translateMariadbError } from "./mariadb-errors.ts";
import { MARIADB_INSPECTION } from "./mariadb-inspection.ts";
import { MariadbMaintenance } from "./mariadb-maintenance.ts";
import { type LoadMysql, MariadbPool } from "./mariadb-pool.ts";
import { type CompleteMariadbSettings, replicaSettings } from "./mariadb-settings.ts";
import { MariadbTransactions } from "./mariadb-transactions.ts";

/** Options that tests replace. */
export interface MariadbDialectOptions {
  /** How long migrations wait for another process's migrations, in milliseconds. */
  readonly migrationTimeoutMs?: number;
  /** Imports the driver. */
  readonly load?: LoadMysql;
  /** Whether inserts and deletions can return their rows; default: according to the server's version. */
  readonly hasReturning?: boolean;
}

/**
 * MariaDB or MySQL through `mysql2`: a bounded number of connections; each transaction has its own.
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
  readonly inspection: DialectInspection = MARIADB_INSPECTION;
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
