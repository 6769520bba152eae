import { randomBytes } from "node:crypto";
import {
  CompiledQuery,
  type DatabaseIntrospector,
  type Kysely,
  MysqlAdapter,
  MysqlIntrospector,
  MysqlQueryCompiler,
  type QueryCompiler,
  type SelectQueryBuilder,
} from "kysely";
import { createPool, type Pool, type PoolConnection } from "mariadb";
import {
  DatabaseError,
  type Dialect,
  type DialectSetup,
  type DialectSource,
  type Executor,
  type Observer,
  type PhysicalConnection,
  type PortableAdapter,
  type Reservation,
  type Row,
  type RowLock,
  sql,
  type TestDatabase,
  type TransactionOptions,
  type Writes,
} from "../../../src/public/database.ts";
import { AshlarError } from "../../../src/public/index.ts";
import { MariadbConnection } from "./mariadb-connection.ts";
import { isDeadlock, translated } from "./mariadb-errors.ts";
import { mariadbWrites } from "./mariadb-writes.ts";

/** The server's address, and how long callers wait for it. */
export interface MariadbOptions {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** `null` for a connection that only creates databases. */
  readonly database: string | null;
  readonly acquireTimeoutMs?: number;
}

/** Text compares byte by byte, trailing spaces included. */
const TEXT = "character set utf8mb4 collate utf8mb4_nopad_bin";

/** Committed data is visible immediately, times are UTC, and a value that does not fit is an error. */
const SESSION = [
  "set session transaction isolation level read committed",
  "set time_zone = '+00:00'",
  "set names utf8mb4 collate utf8mb4_nopad_bin",
  "set sql_mode = 'STRICT_ALL_TABLES,SIMULTANEOUS_ASSIGNMENT,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
];

const CONNECTIONS = 10;
const MIGRATION_TIMEOUT_S = 600;
/** How often a statement is retried after a deadlock in which it had no effect. */
const DEADLOCKS = 20;

/** MariaDB 10.5 or later, as an application would add it: a dialect that the framework doesn't know. */
export function mariadb(options: MariadbOptions): DialectSource {
  return ({ observer }: Pick<DialectSetup, "observer">) => new MariadbDialect(options, observer);
}

class MariadbDialect implements Dialect {
  readonly name = "mariadb";
  readonly acquireTimeoutMs: number;
  readonly parsesJson = false;
  readonly failureEndsTransaction = false;
  readonly schemaIsTransactional = false;
  readonly isInMemory = false;
  readonly serverTime = sql<number>`cast(unix_timestamp(now(3)) * 1000 as signed)`;
  readonly columnNames =
    "select column_name as name from information_schema.columns where table_schema = database() and table_name = ?";
  readonly adapter: PortableAdapter = Object.assign(new MysqlAdapter(), {
    columnTypes: {
      primaryKey: { type: "bigint", define: (column) => column.autoIncrement().primaryKey() },
      reference: "bigint",
      timestamp: sql`datetime(3)`,
      json: "json",
      longText: sql`longtext`,
      now: sql`current_timestamp(3)`,
    },
  } as const satisfies Pick<PortableAdapter, "columnTypes">);
  readonly compiler: QueryCompiler = new MysqlQueryCompiler();
  readonly writes: Writes = mariadbWrites;
  readonly shared: Executor;
  readonly #options: MariadbOptions;
  readonly #observer: Observer;
  readonly #pool: Pool;
  #closed: Promise<void> | null = null;

  constructor(options: MariadbOptions, observer: Observer) {
    const { database, acquireTimeoutMs = 10_000, ...server } = options;
    this.acquireTimeoutMs = acquireTimeoutMs;
    this.#options = options;
    this.#observer = observer;
    this.#pool = createPool({
      ...server,
      ...(database === null ? {} : { database }),
      acquireTimeout: acquireTimeoutMs,
      connectionLimit: CONNECTIONS,
      minimumIdle: 0,
      timezone: "Z",
      autoJsonMap: false,
      initSql: SESSION,
    });
    this.shared = {
      execute: (query) => this.#borrow((connection) => connection.execute(query)),
      first: (text, value) => this.#borrow((connection) => connection.first(text, value)),
    };
  }

  introspector(kysely: Kysely<unknown>): DatabaseIntrospector {
    return new MysqlIntrospector(kysely);
  }

  async connect(): Promise<void> {
    await this.shared.execute(CompiledQuery.raw("select 1"));
  }

  async reserve(): Promise<Reservation> {
    const client = await this.#client();
    const connection = new MariadbConnection(client, this.#observer);
    return {
      connection,
      release: (broken) => (broken || connection.isBroken ? client.destroy() : void client.release()),
    };
  }

  async begin(connection: PhysicalConnection, { isolation, readOnly }: TransactionOptions): Promise<void> {
    if (isolation !== undefined) await run(connection, `set transaction isolation level ${isolation}`);
    await run(connection, readOnly === true ? "start transaction read only" : "start transaction");
    (connection as MariadbConnection).inTransaction = true;
  }

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
    return against === "change" ? query.forUpdate() : query.modifyEnd(sql`lock in share mode`);
  }

  /** Nothing to do: a table that others refer to can't be dropped, and a column is changed in place. */
  suspendForeignKeys(): void {}
  checkForeignKeys(): void {}
  resumeForeignKeys(): void {}

  async lockMigrations(connection: PhysicalConnection): Promise<void> {
    const [row] = await run(connection, `select get_lock(${MIGRATION_LOCK}, ${MIGRATION_TIMEOUT_S}) as locked`);
    if (row?.locked !== 1)
      throw new AshlarError("E_MIGRATION", "Another process is running migrations. Migrate again.");
  }

  async unlockMigrations(connection: PhysicalConnection): Promise<void> {
    await run(connection, `select release_lock(${MIGRATION_LOCK})`);
  }

  async dropEverything(connection: PhysicalConnection): Promise<void> {
    await withoutForeignKeys(connection, async () => {
      for (const { name, kind } of await run(connection, TABLES)) {
        await run(connection, `drop ${KINDS[String(kind)] ?? "table"} if exists ${quoted(String(name))}`);
      }
    });
  }

  async emptyTables(connection: PhysicalConnection, kept: readonly string[]): Promise<void> {
    await withoutForeignKeys(connection, async () => {
      for (const { name, kind } of await run(connection, TABLES)) {
        if (KINDS[String(kind)] !== undefined || kept.includes(String(name))) continue;
        await run(connection, `truncate table ${quoted(String(name))}`);
      }
    });
  }

  async createTestDatabase(): Promise<TestDatabase> {
    const database = `ashlar_test_${randomBytes(8).toString("hex")}`;
    await this.shared.execute(CompiledQuery.raw(`create database ${database} ${TEXT}`));
    const remove = async (): Promise<void> => {
      // Its own connection, because this dialect may be closed by then.
      const server = new MariadbDialect({ ...this.#options, database: null }, { notify: null });
      await server.shared.execute(CompiledQuery.raw(`drop database if exists ${database}`));
      await server.close();
    };
    return { dialect: mariadb({ ...this.#options, database }), remove };
  }

  close(): Promise<void> {
    this.#closed ??= this.#pool.end();
    return this.#closed;
  }

  /** Runs something outside of transactions, where a statement that a deadlock ended can be repeated. */
  async #borrow<T>(task: (connection: MariadbConnection) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const { connection, release } = await this.reserve();
      try {
        return await task(connection as MariadbConnection);
      } catch (error) {
        if (!isDeadlock(error) || attempt === DEADLOCKS) throw error;
      } finally {
        release(false);
      }
    }
  }

  async #client(): Promise<PoolConnection> {
    if (this.#closed !== null) throw new DatabaseError("The connection to the database is closed.", null);
    try {
      return await this.#pool.getConnection();
    } catch (error) {
      throw translated(error);
    }
  }
}

const MIGRATION_LOCK = "concat('ashlar.', left(sha2(database(), 256), 40))";
const TABLES =
  "select table_name as name, table_type as kind from information_schema.tables where table_schema = database()";
const KINDS: Readonly<Record<string, string>> = { VIEW: "view", SEQUENCE: "sequence" };

async function run(connection: PhysicalConnection, text: string): Promise<Row[]> {
  return (await connection.execute(CompiledQuery.raw(text))).rows;
}

async function withoutForeignKeys(connection: PhysicalConnection, task: () => Promise<void>): Promise<void> {
  await run(connection, "set foreign_key_checks = 0");
  try {
    await task();
  } finally {
    await run(connection, "set foreign_key_checks = 1");
  }
}

function quoted(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}
