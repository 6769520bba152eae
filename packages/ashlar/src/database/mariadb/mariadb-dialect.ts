import { randomBytes } from "node:crypto";
import {
  CompiledQuery,
  type DatabaseIntrospector,
  type Expression,
  type Kysely,
  MysqlAdapter,
  MysqlIntrospector,
  type QueryCompiler,
  type SelectQueryBuilder,
  sql,
} from "kysely";
import type { MaybePromise } from "../../support/index.ts";
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
import type { SchemaChange, SchemaRisk } from "../dialect/schema-change.ts";
import { tlsOptions } from "../dialect/tls-settings.ts";
import type { Writes } from "../dialect/writes.ts";
import type { MariadbClient } from "./mariadb-client.ts";
import { BYTE_BY_BYTE, MariadbCompiler } from "./mariadb-compiler.ts";
import { MariadbConnection } from "./mariadb-connection.ts";
import { MARIADB_COPYING } from "./mariadb-copying.ts";
import { translateMariadbError } from "./mariadb-errors.ts";
import { dropAll, emptyAll, MigrationLock } from "./mariadb-maintenance.ts";
import { type LoadMysql, MariadbPool } from "./mariadb-pool.ts";
import { mariadbSchemaRisk } from "./mariadb-schema-risks.ts";
import { type CompleteMariadbSettings, replicaSettings } from "./mariadb-settings.ts";
import { mariadbWrites } from "./mariadb-writes.ts";

/** How long to wait for another process that migrates: longer than most migrations of a large table take. */
const MIGRATION_TIMEOUT_MS = 600_000;

const SERVER_TIME = sql<number>`cast(unix_timestamp(now(3)) * 1000 as signed)`;

const COLUMN_NAMES =
  "select column_name as name from information_schema.columns where table_schema = database() and table_name = ?";

/** An index on the beginning of a column is not about its values. */
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

const COLUMN_TYPES: ColumnTypes = {
  primaryKey: { type: "bigint", define: (column) => column.autoIncrement().primaryKey() },
  reference: "bigint",
  timestamp: sql`datetime(3)`,
  json: "json",
  longText: sql`longtext`,
  now: sql`current_timestamp(3)`,
};

/** `returning` of an insert or a deletion reaches MariaDB; MySQL refuses it. */
class ReturningAdapter extends MysqlAdapter {
  override get supportsReturning(): boolean {
    return true;
  }
}

/** What tests replace. */
export interface MariadbDialectOptions {
  /** How long migrations wait for those of another process, in milliseconds. */
  readonly migrationTimeoutMs?: number;
  /** Imports the driver. */
  readonly load?: LoadMysql;
  /** Whether inserts and deletions can return their rows; default: as the server's version says. */
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
  readonly acquireTimeoutMs: number;
  readonly parsesJson = false;
  readonly failureEndsTransaction = false;
  readonly schemaIsTransactional = false;
  readonly isInMemory = false;
  readonly serverTime: Expression<number> = SERVER_TIME;
  readonly columnNames: string = COLUMN_NAMES;
  readonly uniqueColumnNames: string = UNIQUE_COLUMN_NAMES;
  readonly looseText: NonNullable<Dialect["looseText"]> = LOOSE_TEXT;
  readonly plainTables: NonNullable<Dialect["plainTables"]> = PLAIN_TABLES;
  readonly copying: NonNullable<Dialect["copying"]> = MARIADB_COPYING;
  readonly adapter: PortableAdapter = Object.assign(new ReturningAdapter(), {
    columnTypes: COLUMN_TYPES,
    onlineIndex: { option: "lock = none" },
  });
  readonly compiler: QueryCompiler = new MariadbCompiler();
  readonly writes: Writes;
  readonly shared: Executor;
  readonly replicas: Replicas | null;
  readonly #settings: CompleteMariadbSettings;
  readonly #setup: Pick<DialectSetup, "where" | "root" | "maxQueueMs">;
  readonly #observer: Observer;
  readonly #pool: MariadbPool;
  readonly #replicas: readonly MariadbDialect[];
  readonly #migrationLock: MigrationLock;

  constructor(
    settings: CompleteMariadbSettings,
    { where, root, observer, maxQueueMs = 0 }: Pick<DialectSetup, "where" | "root" | "observer" | "maxQueueMs">,
    { migrationTimeoutMs = MIGRATION_TIMEOUT_MS, load, hasReturning }: MariadbDialectOptions = {},
  ) {
    this.acquireTimeoutMs = settings.acquireTimeoutMs;
    this.#settings = settings;
    this.#setup = { where, root, maxQueueMs };
    this.#observer = observer;
    this.#pool = new MariadbPool(
      { settings, ssl: settings.tls ? tlsOptions(settings.tls, { where, root }) : null, where, maxQueueMs },
      load,
    );
    this.#migrationLock = new MigrationLock(migrationTimeoutMs, settings.statementTimeoutMs);
    this.writes = mariadbWrites(() => hasReturning ?? this.#hasReturning());
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

  introspector(kysely: Kysely<unknown>): DatabaseIntrospector {
    return new MysqlIntrospector(kysely);
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

  async reserve(): Promise<Reservation> {
    const client = await this.#client();
    const connection = new MariadbConnection(client, this.#observer);
    return { connection, release: (isBroken) => this.#pool.giveBack(client, isBroken || connection.isBroken) };
  }

  async begin(connection: PhysicalConnection, { isolation, readOnly }: TransactionOptions): Promise<void> {
    if (isolation !== undefined) await run(connection, `set transaction isolation level ${isolation}`);
    await run(connection, readOnly === true ? "start transaction read only" : "begin");
    (connection as MariadbConnection).inTransaction = true;
  }

  /** If the server has rolled the transaction back by itself, the connection refuses. */
  async commit(connection: PhysicalConnection): Promise<void> {
    await run(connection, "commit");
    (connection as MariadbConnection).inTransaction = false;
  }

  async rollback(connection: PhysicalConnection, savepoint: string | null): Promise<void> {
    if (savepoint === null) return await (connection as MariadbConnection).rollback();
    await run(connection, `rollback to savepoint ${savepoint}`);
    await run(connection, `release savepoint ${savepoint}`);
  }

  lockRows<DB, T extends keyof DB, O>(
    query: SelectQueryBuilder<DB, T, O>,
    against: RowLock,
  ): SelectQueryBuilder<DB, T, O> {
    if (against === "reference") return query.modifyEnd(sql`lock in share mode`);
    return against === "skip" ? query.forUpdate().skipLocked() : query.forUpdate();
  }

  /** Nothing to do: a table that is referred to cannot be dropped, and columns are changed in place. */
  suspendForeignKeys(): void {}
  checkForeignKeys(): void {}
  resumeForeignKeys(): void {}

  async lockMigrations(connection: PhysicalConnection): Promise<void> {
    await this.#migrationLock.take(connection as MariadbConnection);
  }

  async unlockMigrations(connection: PhysicalConnection): Promise<void> {
    await this.#migrationLock.release(connection as MariadbConnection);
  }

  /** In whole seconds. The rows of other transactions are waited for as usual: only a table's lock holds others up. */
  async limitLockWaits(connection: PhysicalConnection, timeoutMs: number | null): Promise<void> {
    const change =
      timeoutMs === null
        ? "session lock_wait_timeout = @ashlar_lock_wait"
        : `@ashlar_lock_wait = @@session.lock_wait_timeout, session lock_wait_timeout = ${Math.ceil(timeoutMs / 1000)}`;
    await connection.execute(CompiledQuery.raw(`set ${change}`));
  }

  schemaRisk(change: SchemaChange): SchemaRisk | null {
    return mariadbSchemaRisk(change);
  }

  async dropEverything(connection: PhysicalConnection): Promise<void> {
    await dropAll(connection);
  }

  async emptyTables(connection: PhysicalConnection, kept: readonly string[]): Promise<void> {
    await emptyAll(connection, kept);
  }

  async createTestDatabase(): Promise<TestDatabase> {
    const database = `ashlar_test_${randomBytes(8).toString("hex")}`;
    await this.#administer(`create database ${database}`);
    const settings = { ...this.#settings, database, read: [] };
    return {
      dialect: (setup) => new MariadbDialect(settings, setup),
      remove: () => this.#administer(`drop database if exists ${database}`),
    };
  }

  /** Runs a statement on a separate connection, because this dialect may already be closed, or its database missing. */
  async #administer(text: string): Promise<void> {
    const settings = {
      ...this.#settings,
      ...{ database: null, poolSize: 1, statementTimeoutMs: MIGRATION_TIMEOUT_MS, read: [] },
    };
    const server = new MariadbDialect(settings, { ...this.#setup, observer: { notify: null } });
    try {
      await server.shared.execute(CompiledQuery.raw(text));
    } finally {
      await server.close();
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool, ...this.#replicas].map((each) => each.close()));
  }

  async #borrow<T>(task: (connection: MariadbConnection) => Promise<T>): Promise<T> {
    const { connection, release } = await this.reserve();
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

async function run(connection: Executor, text: string): Promise<void> {
  await connection.execute(CompiledQuery.raw(text));
}
