import { setTimeout as sleep } from "node:timers/promises";
import {
  CompiledQuery,
  type DatabaseIntrospector,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryCompiler,
  type QueryResult,
  sql,
} from "kysely";
import type { QueryResult as PgResult, Pool, PoolClient } from "pg";
import { AshlarError } from "../../support/index.ts";
import { isStorableText, kindOf } from "../column-names.ts";
import { ColumnValueError } from "../column-value-error.ts";
import type { PostgresConnectionConfiguration } from "../configuration.ts";
import type {
  ColumnTypes,
  ColumnValue,
  Dialect,
  Observer,
  OwnSession,
  PortableAdapter,
  Reservation,
  Row,
  Session,
  TransactionOptions,
} from "../dialect.ts";
import { DatabaseError } from "../errors.ts";
import { afterFailure, IN_FAILED_TRANSACTION, isStatementError, translatePostgresError } from "./postgres-errors.ts";
import { openPool } from "./postgres-pool.ts";

/** The advisory lock that whoever runs migrations holds: the bytes of "ashlar". */
const MIGRATION_LOCK = 0x6173686c6172;

/** How long to wait for another process that migrates: longer than most migrations of a large table take. */
const MIGRATION_TIMEOUT_MS = 600_000;

/** How long to wait before asking for that lock again, in milliseconds. */
const LOCK_RETRY_MS = 50;

/** What `pg` says where no connection became free, and where a new one was not open, within `acquireTimeoutMs`. */
const POOL_TIMEOUTS: ReadonlySet<string> = new Set([
  "timeout exceeded when trying to connect",
  "Connection terminated due to connection timeout",
]);

const COUNTED = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

const COLUMN_TYPES: ColumnTypes = {
  primaryKey: { type: "bigint", define: (column) => column.generatedByDefaultAsIdentity().primaryKey() },
  reference: "bigint",
  timestamp: "timestamptz",
  json: "jsonb",
  now: sql`now()`,
};

/**
 * PostgreSQL through `pg`: a bounded pool, of which a transaction has one connection to itself.
 *
 * Times are `timestamptz` and arrive as `Date`. A `bigint` arrives as a number, or as a bigint where a number could not
 * hold it exactly; a `date` and a `numeric` as text.
 */
export class PostgresDialect implements Dialect {
  readonly name = "postgres";
  readonly parsesJson = true;
  readonly adapter: PortableAdapter = Object.assign(new PostgresAdapter(), { columnTypes: COLUMN_TYPES });
  readonly compiler: QueryCompiler = new PostgresQueryCompiler();
  readonly shared: Session;
  readonly #configuration: PostgresConnectionConfiguration;
  readonly #observer: Observer;
  readonly #migrationTimeoutMs: number;
  #pool: Promise<Pool> | null = null;
  #closed = false;

  /** @param migrationTimeoutMs how long migrations wait for those of another process */
  constructor(
    configuration: PostgresConnectionConfiguration,
    observer: Observer,
    migrationTimeoutMs: number = MIGRATION_TIMEOUT_MS,
  ) {
    this.#configuration = configuration;
    this.#migrationTimeoutMs = migrationTimeoutMs;
    this.#observer = observer;
    this.shared = {
      execute: (query) => this.#borrow((session) => session.execute(query)),
      first: (text, value) => this.#first(text, value),
    };
  }

  introspector(kysely: Kysely<unknown>): DatabaseIntrospector {
    return new PostgresIntrospector(kysely);
  }

  async connect(): Promise<void> {
    await this.#borrow((session) => session.execute(CompiledQuery.raw("select 1")));
  }

  async reserve(): Promise<Reservation> {
    const client = await this.#client();
    const session = new PostgresSession(client, this.#observer);
    return { session, release: (broken) => client.release(broken || session.broken) };
  }

  async begin(session: Session, { isolation, readOnly }: TransactionOptions): Promise<void> {
    const words = ["begin"];
    if (isolation !== undefined) words.push(`isolation level ${isolation}`);
    if (readOnly === true) words.push("read only");
    await session.execute(CompiledQuery.raw(words.join(" ")));
  }

  async commit(session: OwnSession): Promise<void> {
    const { rows } = await session.execute(CompiledQuery.raw("commit"));
    if (rows[0]!.command !== "ROLLBACK") return;
    // The server answers a commit after a failed statement by rolling back, and calls that a success.
    throw afterFailure(session.failure, "The transaction was rolled back, because a statement in it had failed");
  }

  async rollback(session: Session, savepoint: string | null): Promise<void> {
    if (savepoint === null) return void (await session.execute(CompiledQuery.raw("rollback")));
    await session.execute(CompiledQuery.raw(`rollback to savepoint ${savepoint}`));
    await session.execute(CompiledQuery.raw(`release savepoint ${savepoint}`));
  }

  /** Nothing to do: what refers to a table keeps it from being dropped, and a column is changed in place. */
  suspendForeignKeys(): void {}
  checkForeignKeys(): void {}
  resumeForeignKeys(): void {}

  async lockMigrations(session: Session): Promise<void> {
    const end = performance.now() + this.#migrationTimeoutMs;
    // Asked again and again: a statement that waits has a snapshot, and `create index concurrently` in another process
    // would wait for that, and this for the lock of that process.
    const attempt = CompiledQuery.raw(`select pg_try_advisory_lock(${MIGRATION_LOCK}) as locked`);
    while ((await session.execute(attempt)).rows[0]!.locked !== true) {
      if (performance.now() >= end) throw await this.#lockedMigrations(session);
      await sleep(LOCK_RETRY_MS);
    }
  }

  async #lockedMigrations(session: Session): Promise<AshlarError> {
    // A lock's key of 64 bits stands there in two halves. One process at most holds it.
    const query = `
      select coalesce(min(format(
        'It is the server''s process %s%s. Migrate again when it has ended; to end it: select pg_terminate_backend(%1$s)',
        l.pid, ' from ' || host(a.client_addr)
      )), 'Migrate again.') as remedy
      from pg_locks l left join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.granted
      and l.classid = (${MIGRATION_LOCK}::bigint >> 32) and l.objid = (${MIGRATION_LOCK}::bigint & 4294967295)
      and l.database = (select oid from pg_database where datname = current_database())`;
    const { rows } = await session.execute(CompiledQuery.raw(query));
    const problem = `Another process has been running migrations for more than ${this.#migrationTimeoutMs} ms.`;
    return new AshlarError("E_MIGRATION", `${problem} ${rows[0]!.remedy}`);
  }

  async unlockMigrations(session: Session): Promise<void> {
    await session.execute(CompiledQuery.raw(`select pg_advisory_unlock(${MIGRATION_LOCK})`));
  }

  async dropEverything(session: Session): Promise<void> {
    // What belongs to an extension goes with the extension only.
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
    const { rows } = await session.execute(CompiledQuery.raw(objects));
    // Only what nothing else has taken along is left to drop.
    for (const { kind, name } of rows)
      await session.execute(CompiledQuery.raw(`drop ${kind} if exists ${name} cascade`));
  }

  async close(): Promise<void> {
    this.#closed = true;
    // A pool that could not be opened has been reported where it was needed; one that was closed need not be again.
    await this.#pool?.then((open) => open.end()).catch(() => undefined);
  }

  async #first(text: string, value: ColumnValue): Promise<Row | undefined> {
    try {
      return await this.#borrow((session) => session.first(text, value));
    } catch (error) {
      // "abc" is the number of no row: elsewhere that finds nothing, so it does here.
      if (error instanceof ColumnValueError) return undefined;
      throw error;
    }
  }

  async #borrow<T>(use: (session: PostgresSession) => Promise<T>): Promise<T> {
    const client = await this.#client();
    const session = new PostgresSession(client, this.#observer);
    try {
      return await use(session);
    } finally {
      client.release(session.broken);
    }
  }

  async #open(): Promise<Pool> {
    try {
      return await openPool(this.#configuration);
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
      if (POOL_TIMEOUTS.has((error as Error).message)) {
        const waited = `${this.#configuration.acquireTimeoutMs} ms`;
        throw new AshlarError("E_OVERLOADED", `No connection to the database was free within ${waited}.`, {
          cause: error,
        });
      }
      throw translatePostgresError(error);
    }
  }
}

/** One connection of the pool, while it is checked out. */
class PostgresSession implements OwnSession {
  failure: AshlarError | null = null;
  /** Whether the connection failed, and must not go back into the pool. */
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
      // Several statements in one text give a list of results.
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

/** What the driver is given for a value. Lists and objects are its own business: arrays and JSON. */
function bind(value: unknown): unknown {
  if (value === undefined) throw new AshlarError("E_INVALID_QUERY", "A value for the database is of type undefined.");
  if (typeof value === "string" && !isStorableText(value)) {
    throw new ColumnValueError(null, `A value for the database is ${kindOf(value)}.`);
  }
  if (!(value instanceof Date)) return value;
  if (Number.isNaN(value.getTime()))
    throw new AshlarError("E_INVALID_QUERY", "A value for the database is an invalid date.");
  // The driver would write the local time, which a column without time zone stores as it stands.
  return value.toISOString();
}
