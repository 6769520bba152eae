import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
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
  type QueryResult,
  type SelectQueryBuilder,
  sql,
} from "kysely";
import type { QueryResult as PgResult, Pool, PoolClient } from "pg";
import { AshlarError } from "../../support/index.ts";
import { isStorableText, kindOf } from "../column-names.ts";
import { ColumnValueError } from "../column-value-error.ts";
import type {
  ColumnTypes,
  ColumnValue,
  Dialect,
  DialectSetup,
  Executor,
  Observer,
  PhysicalConnection,
  PortableAdapter,
  Reservation,
  Row,
  RowLock,
  TestDatabase,
  TransactionOptions,
} from "../dialect.ts";
import { DatabaseError } from "../errors.ts";
import { returningWrites } from "../returning-writes.ts";
import type { Writes } from "../writes.ts";
import type { CompletePostgresSettings } from "./postgres.ts";
import {
  afterFailure,
  IN_FAILED_TRANSACTION,
  isStatementError,
  translatePostgresError,
  unreachableRemedy,
} from "./postgres-errors.ts";
import { openPool } from "./postgres-pool.ts";

/** The advisory lock held while migrations run: the bytes of "ashlar". */
const MIGRATION_LOCK = 0x6173686c6172;

/** How long to wait for another process that migrates: longer than most migrations of a large table take. */
const MIGRATION_TIMEOUT_MS = 600_000;

/** How long to wait before trying to get that lock again, in milliseconds. */
const LOCK_RETRY_MS = 50;

/** The error of `pg` if no connection became free within `acquireTimeoutMs`. */
const POOL_TIMEOUT = "timeout exceeded when trying to connect";
/** Its error if the server did not respond to a new one. */
const CONNECTION_TIMEOUT = "Connection terminated due to connection timeout";

const COUNTED = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

const SERVER_TIME = sql<number>`floor(extract(epoch from statement_timestamp()) * 1000)::bigint`;

/** The `search_path` decides which of several tables with the same name is found. */
const COLUMN_NAMES = `select attname as name from pg_catalog.pg_attribute
  where attrelid = to_regclass(replace(quote_ident($1), '.', '"."')) and attnum > 0 and not attisdropped`;

const UNIQUE_COLUMN_NAMES = `select attname as name from pg_catalog.pg_index
  join pg_catalog.pg_attribute on attrelid = indrelid and attnum = indkey[0]
  where indrelid = to_regclass(replace(quote_ident($1), '.', '"."'))
    and indisunique and indnkeyatts = 1 and indpred is null and indexprs is null`;

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
  readonly failureEndsTransaction = true;
  readonly schemaIsTransactional = true;
  readonly isInMemory = false;
  readonly serverTime: Expression<number> = SERVER_TIME;
  readonly columnNames: string = COLUMN_NAMES;
  readonly uniqueColumnNames: string = UNIQUE_COLUMN_NAMES;
  readonly adapter: PortableAdapter = Object.assign(new PostgresAdapter(), { columnTypes: COLUMN_TYPES });
  readonly compiler: QueryCompiler = new PostgresCompiler();
  readonly writes: Writes = returningWrites;
  readonly shared: Executor;
  readonly #settings: CompletePostgresSettings;
  readonly #where: string;
  readonly #observer: Observer;
  readonly #migrationTimeoutMs: number;
  #pool: Promise<Pool> | null = null;
  #closed = false;

  /** @param migrationTimeoutMs how long migrations wait for those of another process */
  constructor(
    settings: CompletePostgresSettings,
    { where, observer }: Pick<DialectSetup, "where" | "observer">,
    migrationTimeoutMs: number = MIGRATION_TIMEOUT_MS,
  ) {
    this.acquireTimeoutMs = settings.acquireTimeoutMs;
    this.#settings = settings;
    this.#migrationTimeoutMs = migrationTimeoutMs;
    this.#where = where;
    this.#observer = observer;
    this.shared = {
      execute: (query) => this.#borrow((connection) => connection.execute(query)),
      first: (text, value) => this.#first(text, value),
    };
  }

  introspector(kysely: Kysely<unknown>): DatabaseIntrospector {
    return new PostgresIntrospector(kysely);
  }

  async connect(): Promise<void> {
    await this.#borrow((connection) => connection.execute(CompiledQuery.raw("select 1")));
  }

  async reserve(): Promise<Reservation> {
    const client = await this.#client();
    const connection = new PostgresConnection(client, this.#observer);
    return { connection, release: (broken) => client.release(broken || connection.broken) };
  }

  async begin(connection: Executor, { isolation, readOnly }: TransactionOptions): Promise<void> {
    const words = ["begin"];
    if (isolation !== undefined) words.push(`isolation level ${isolation}`);
    if (readOnly === true) words.push("read only");
    await connection.execute(CompiledQuery.raw(words.join(" ")));
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
    return against === "change" ? query.forUpdate() : query.forKeyShare();
  }

  /** Nothing to do: a table that is referred to cannot be dropped, and columns are changed in place. */
  suspendForeignKeys(): void {}
  checkForeignKeys(): void {}
  resumeForeignKeys(): void {}

  async lockMigrations(connection: Executor): Promise<void> {
    const end = performance.now() + this.#migrationTimeoutMs;
    // Polled: a waiting statement has a snapshot, so `create index concurrently` in another process would wait for it
    // while it waits for that process's lock.
    const attempt = CompiledQuery.raw(`select pg_try_advisory_lock(${MIGRATION_LOCK}) as locked`);
    while ((await connection.execute(attempt)).rows[0]!.locked !== true) {
      if (performance.now() >= end) throw await this.#lockedMigrations(connection);
      await sleep(LOCK_RETRY_MS);
    }
  }

  async #lockedMigrations(connection: Executor): Promise<AshlarError> {
    // A 64-bit lock key is shown there in two halves. At most one process holds it.
    const query = `
      select coalesce(min(format(
        'It is the server''s process %s%s. Migrate again when it has ended; to end it: select pg_terminate_backend(%1$s)',
        l.pid, ' from ' || host(a.client_addr)
      )), 'Migrate again.') as remedy
      from pg_locks l left join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.granted
      and l.classid = (${MIGRATION_LOCK}::bigint >> 32) and l.objid = (${MIGRATION_LOCK}::bigint & 4294967295)
      and l.database = (select oid from pg_database where datname = current_database())`;
    const { rows } = await connection.execute(CompiledQuery.raw(query));
    const problem = `Another process has been running migrations for more than ${this.#migrationTimeoutMs} ms.`;
    return new AshlarError("E_MIGRATION", `${problem} ${rows[0]!.remedy}`);
  }

  async unlockMigrations(connection: Executor): Promise<void> {
    await connection.execute(CompiledQuery.raw(`select pg_advisory_unlock(${MIGRATION_LOCK})`));
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
    const settings = onDatabase(this.#settings, database);
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
    const settings = { ...this.#settings, statementTimeoutMs: null };
    const server = new PostgresDialect(settings, { where: this.#where, observer: { notify: null } });
    try {
      await server.shared.execute(CompiledQuery.raw(text));
    } finally {
      await server.close();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    // A pool that could not be opened has been reported where it was needed; the error need not be reported again on
    // closing.
    await this.#pool?.then((open) => open.end()).catch(() => undefined);
  }

  async #first(text: string, value: ColumnValue): Promise<Row | undefined> {
    try {
      return await this.#borrow((connection) => connection.first(text, value));
    } catch (error) {
      // "abc" is not the number of any row: on other databases that finds nothing, so it does here too.
      if (error instanceof ColumnValueError) return undefined;
      throw error;
    }
  }

  async #borrow<T>(use: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    const client = await this.#client();
    const connection = new PostgresConnection(client, this.#observer);
    try {
      return await use(connection);
    } finally {
      client.release(connection.broken);
    }
  }

  async #open(): Promise<Pool> {
    try {
      return await openPool(this.#settings);
    } catch (error) {
      // The next statement tries again: the driver may be installed by then.
      this.#pool = null;
      throw error;
    }
  }

  async #client(): Promise<PoolClient> {
    if (this.#closed) throw new DatabaseError("The connection to the database is closed.", null);
    this.#pool ??= this.#open();
    const pool = await this.#pool;
    try {
      return await pool.connect();
    } catch (error) {
      const { message } = error as Error;
      const waited = `${this.#settings.acquireTimeoutMs} ms`;
      if (message === POOL_TIMEOUT) {
        throw new AshlarError("E_OVERLOADED", `No connection to the database was free within ${waited}.`, {
          cause: error,
        });
      }
      if (message === CONNECTION_TIMEOUT) {
        const problem = `The database server did not respond within ${waited}.`;
        throw new AshlarError("E_OVERLOADED", `${problem}${unreachableRemedy(this.#where)}`, { cause: error });
      }
      throw translatePostgresError(error, this.#where);
    }
  }
}

class PostgresCompiler extends PostgresQueryCompiler {
  /** The table, which other databases need, is not part of the statement. */
  protected override visitDropIndex({ table: _, ...node }: DropIndexNode): void {
    super.visitDropIndex(node);
  }
}

function onDatabase(settings: CompletePostgresSettings, database: string): CompletePostgresSettings {
  if (settings.url === null) return { ...settings, database };
  const url = new URL(settings.url);
  url.pathname = `/${database}`;
  return { ...settings, url: url.href };
}

/** One connection of the pool, while it is checked out. */
class PostgresConnection implements PhysicalConnection {
  failure: AshlarError | null = null;
  /** Whether the connection failed, and must not be returned to the pool. */
  broken = false;
  readonly #client: PoolClient;
  readonly #observer: Observer;

  constructor(client: PoolClient, observer: Observer) {
    this.#client = client;
    this.#observer = observer;
  }

  async execute(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { command, rowCount, rows } = await this.#query(query.sql, query.parameters.map(bind));
    if (command === "COMMIT" || command === "ROLLBACK") return { rows: [{ command }] };
    if (COUNTED.has(command)) return { rows, numAffectedRows: BigInt(rowCount!) };
    return { rows };
  }

  async first(text: string, value: ColumnValue): Promise<Row | undefined> {
    const { rows } = await this.#query(text, [bind(value)]);
    return rows[0];
  }

  async #query(text: string, values: unknown[]): Promise<PgResult<Row>> {
    this.#observer.notify?.(text);
    try {
      const result: PgResult<Row> | PgResult<Row>[] = await this.#client.query<Row>(text, values);
      // Several statements in one text return a list of results.
      return Array.isArray(result) ? result.at(-1)! : result;
    } catch (error) {
      if (!isStatementError(error)) this.broken = true;
      if ((error as NodeJS.ErrnoException).code === IN_FAILED_TRANSACTION) {
        throw afterFailure(this.failure, "An earlier statement of this transaction failed, and its error was caught");
      }
      this.failure = translatePostgresError(error);
      throw this.failure;
    }
  }
}

/** Converts a value for the driver. The driver itself handles lists and objects: as arrays and JSON. */
function bind(value: unknown): unknown {
  if (value === undefined) throw new AshlarError("E_INVALID_QUERY", "A value for the database is of type undefined.");
  if (typeof value === "string" && !isStorableText(value)) {
    throw new ColumnValueError(null, `A value for the database is ${kindOf(value)}.`);
  }
  if (!(value instanceof Date)) return value;
  if (Number.isNaN(value.getTime()))
    throw new AshlarError("E_INVALID_QUERY", "A value for the database is an invalid date.");
  // The driver would write the local time, which a column without a time zone stores unchanged.
  return value.toISOString();
}
