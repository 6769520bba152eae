import { type Compilable, CompiledQuery, type Transaction } from "kysely";
import type { MaybePromise } from "../../support/index.ts";
import type { ConnectionUsage, Dialect, Observer } from "../dialect/dialect.ts";
import type { TransactionOptions } from "../dialect/dialect-transactions.ts";
import type { ColumnValue, Executor, Row } from "../dialect/executor.ts";
import type { QueryBuilder, Tables } from "../dialect/tables.ts";
import { type PreparedStatement, PreparedWrites, queryTemplate } from "../dialect/writes.ts";
import { RetryingExecutor } from "../executors/executor-layers.ts";
import { LongTransactions, type ReportLongTransaction } from "../executors/long-transactions.ts";
import { ReplicaReads } from "../executors/replica-reads.ts";
import type { RollbackLog } from "../executors/rollback-log.ts";
import { type KyselyDialect, kyselyDialect, type Scopes, scopedKysely } from "../executors/scoped-kysely.ts";
import { type ReportCaughtFailure, type ReportFailedWork, Transactions } from "../executors/transactions.ts";
import { ConnectionMaintenance } from "./connection-maintenance.ts";
import type { IgnoredAttributes } from "./ignored-attributes.ts";

/** The report of {@link Connection.onQuery} about a statement. Values are left out: they may be secrets. */
export interface QueryEvent {
  /** The connection's name in `config/database.ts`. */
  readonly connection: string;
  readonly sql: string;
}

/**
 * A database that the application is connected to.
 *
 * A query belongs to the transaction in whose function it was issued, however deep in the call stack, without anything
 * being passed along; all other queries run outside of it.
 */
export class Connection {
  /** The connection's name in `config/database.ts`. */
  readonly name: string;
  /** Everything that differs between databases. */
  readonly dialect: Dialect;
  /** Kysely on this connection. */
  readonly kysely: QueryBuilder;
  /**
   * What migrations and tests do to the database besides running statements.
   *
   * @internal
   */
  readonly maintenance: ConnectionMaintenance;
  /**
   * Its read replicas; `null` if it has none.
   *
   * @internal
   */
  readonly replicas: ReplicaReads | null;
  /**
   * Prepares writes that return rows, or that depend on stored values.
   *
   * @internal
   */
  readonly writes: PreparedWrites;
  /**
   * Receives the attributes that models on this connection ignore; `null` unless they are reported.
   *
   * @internal
   */
  ignoredAttributes: IgnoredAttributes | null = null;
  readonly #observer: Observer;
  readonly #kyselyDialect: KyselyDialect;
  readonly #transactions: Transactions;
  readonly #listeners = new Set<(query: QueryEvent) => void>();
  readonly #main: Connection | null;
  /** By their names. */
  readonly #beside = new Map<string, Connection>();

  /**
   * Connections are created by `Database`.
   *
   * @param main the connection that this one is {@link beside}, if any
   */
  constructor(name: string, makeDialect: (observer: Observer) => Dialect, main: Connection | null = null) {
    this.name = name;
    this.#main = main;
    this.#observer = { notify: null };
    this.dialect = makeDialect(this.#observer);
    const shared = new RetryingExecutor(this.dialect.shared);
    const { replicas = null } = this.dialect;
    this.replicas = replicas === null ? null : new ReplicaReads(shared, replicas);
    this.#kyselyDialect = kyselyDialect(this.dialect);
    this.#transactions = new Transactions(this.dialect, name, this.#kyselyDialect, this.replicas ?? shared);
    this.maintenance = new ConnectionMaintenance(this.#transactions, this.dialect.maintenance);
    this.#observe();
    this.kysely = this.guardedKysely(() => {});
    const transactions = this.#transactions;
    this.writes = new PreparedWrites(this.dialect.transactions.writes, this.kysely, {
      execute: (query) => transactions.executor.execute(query),
      transaction: (task) => transactions.transaction(task, {}),
    });
  }

  /** Whether the caller is inside a transaction on this connection. */
  get inTransaction(): boolean {
    return this.#transactions.depth > 0;
  }

  /**
   * Runs a function in a transaction: commits when it returns, and rolls back when it throws.
   *
   * Inside another transaction on this connection it is a nested one, which can fail on its own: the error of a
   * statement may be caught around it. If it is caught inside, for example after `E_UNIQUE_VIOLATION`, SQLite
   * continues, but PostgreSQL refuses every further statement and the commit. Keep transactions short: on SQLite,
   * everything else that writes waits in the meantime, for at most `acquireTimeoutMs`.
   *
   * @param task every query in it, including those of models, is part of the transaction
   * @returns the function's result
   * @throws the function's errors; `E_OVERLOADED` if no connection became free in time; `E_DATABASE` if the database
   * cannot commit, or if a statement failed before and PostgreSQL refuses the next one
   */
  transaction<T>(task: (trx: Transaction<Tables>) => MaybePromise<T>, options: TransactionOptions = {}): Promise<T> {
    return this.#transactions.transaction(task, options);
  }

  /**
   * Runs work once every transaction that the caller is in has committed, on this connection and on others, and never if
   * one of them is rolled back. If a nested transaction is rolled back, its work is dropped. Outside of transactions,
   * it runs at once.
   *
   * It is for effects that a rollback cannot undo: a call to another service, a job for a queue, a file. Events, mails
   * and cookies wait for the commit by themselves.
   *
   * ```ts
   * await database.transaction(async () => {
   *   const order = await Order.create({ user_id: user.id });
   *   void database.afterCommit(() => application.logger.info({ order: order.id }, "A new order."));
   * });
   * ```
   *
   * The work runs outside of the transaction, whose `transaction()` resolves when the work is done. It is in memory: if
   * the process is killed between commit and work, the work is lost. If it throws, that is logged, because the
   * transaction can no longer fail; other work still runs.
   *
   * @returns resolves when the work is done, in a transaction at once; never rejects
   */
  afterCommit(work: () => MaybePromise<void>): Promise<void> {
    return this.#transactions.afterCommit(work);
  }

  /**
   * Runs a function whose queries all use the same connection of the pool, without a transaction.
   *
   * @returns the function's result
   * @throws the function's errors; `E_OVERLOADED` if no connection became free in time
   */
  reserved<T>(task: () => MaybePromise<T>): Promise<T> {
    return this.#transactions.reserved(task);
  }

  /**
   * The first row of a statement with one parameter: the fastest way to a row, for compiled statements.
   *
   * @internal
   */
  first(sql: string, value: ColumnValue): MaybePromise<Row | undefined> {
    return this.#transactions.executor.first(sql, value);
  }

  /**
   * The rows that a compiled statement returns.
   *
   * @internal
   */
  rows(sql: string, values: readonly ColumnValue[]): MaybePromise<Row[]> {
    const done = this.#transactions.executor.execute(CompiledQuery.raw(sql, [...values]));
    return done instanceof Promise ? done.then(({ rows }) => rows) : done.rows;
  }

  /**
   * Compiles a query once, to be run with values for its parameters.
   *
   * @internal
   */
  prepare(query: Compilable): PreparedStatement {
    const template = queryTemplate(query);
    return (values) => {
      const done = this.#transactions.executor.execute(template(values));
      return done instanceof Promise ? done.then(({ rows }) => rows) : done.rows;
    };
  }

  /**
   * Keeps tables on the primary; see `Database.keepOnPrimary`.
   *
   * @internal
   */
  keepOnPrimary(tables: readonly string[]): void {
    // Replicas learn of statements on any of its pools.
    if (this.#main === null) this.replicas?.keepOnPrimary(tables);
    else this.#main.keepOnPrimary(tables);
  }

  /** Calls a listener before each statement. Call the returned function to remove it. */
  onQuery(listener: (query: QueryEvent) => void): () => void {
    this.#listeners.add(listener);
    this.#observe();
    return () => {
      this.#listeners.delete(listener);
      this.#observe();
    };
  }

  /**
   * Reports transactions that are open for more than 200 ms: the location of each call, as `file:line`, once.
   *
   * It makes calls slightly more expensive, and is meant for development.
   */
  onLongTransaction(report: ReportLongTransaction): void {
    this.#transactions.longTransactions = new LongTransactions(report);
  }

  /**
   * Reports transactions that commit after a statement in them failed, which SQLite allows and PostgreSQL does not. The
   * report comes before the commit, with the error of the latest such statement.
   */
  onCaughtFailure(report: ReportCaughtFailure): void {
    this.#transactions.reportCaughtFailure = report;
  }

  /**
   * Reports errors of work that ran after a commit. Without this, they are unhandled.
   *
   * @internal
   */
  onFailedWork(report: ReportFailedWork): void {
    this.#transactions.reportFailedWork = report;
  }

  /**
   * Reports the path of the database file if it did not exist and connecting created it.
   *
   * @internal
   */
  onCreated(report: (path: string) => void): void {
    this.#observer.created = report;
  }

  /**
   * A connection to the same database with a separate pool, which is closed with this one. Its statements are reported
   * as this one's, but it takes no part in this one's transactions. If the database has no pools, it is the same
   * connection.
   *
   * @param purpose its purpose, with which its name ends: `main:limits`
   * @param poolSize the maximum number of its connections
   * @internal
   */
  beside(purpose: string, poolSize: number): Connection {
    const { dialect } = this;
    const name = `${this.name}:${purpose}`;
    const made = this.#beside.get(name);
    if (made !== undefined || dialect.beside === undefined) return made ?? this;
    const connection = new Connection(name, () => dialect.beside!(poolSize, this.#observer), this);
    this.#beside.set(name, connection);
    return connection;
  }

  /**
   * How much of its pools is in use, by their names: its own, and those {@link beside} it. Empty if the driver can't tell.
   *
   * @internal
   */
  usage(): [name: string, ConnectionUsage][] {
    return [this, ...this.#beside.values()].flatMap(({ name, dialect }) => {
      const used = dialect.usage?.();
      return used === undefined ? [] : [[name, used]];
    });
  }

  /**
   * Connects now instead of on the first query.
   *
   * @throws `E_DATABASE_UNAVAILABLE` or `E_DATABASE` if the database cannot be reached, `E_MISSING_PACKAGE` if its
   * driver is not installed
   */
  async connect(): Promise<void> {
    await this.dialect.connect();
  }

  /** Waits for running queries, and closes. Later queries fail. */
  async close(): Promise<void> {
    await Promise.all([this, ...this.#beside.values()].map(({ dialect }) => dialect.close()));
  }

  /**
   * Kysely on this connection that calls a function before each statement. The function throws to refuse it.
   *
   * @internal
   */
  guardedKysely(check: () => void, through: (executor: Executor) => Executor = (executor) => executor): QueryBuilder {
    const transactions = this.#transactions;
    const scopes: Scopes = {
      get executor() {
        check();
        return through(transactions.executor);
      },
      transaction: (task, options) => transactions.transaction(task, options),
      reserved: (task) => transactions.reserved(task),
    };
    return scopedKysely(this.#kyselyDialect, scopes);
  }

  /**
   * The log of the caller's transaction, `null` outside of one. Code that changes an object after a statement must get
   * the log before the statement.
   *
   * @internal
   */
  get rollbackLog(): RollbackLog | null {
    return this.#transactions.log;
  }

  #observe(): void {
    const [listeners, replicas] = [this.#listeners, this.replicas];
    if (listeners.size === 0 && replicas === null) {
      this.#observer.notify = null;
      return;
    }
    this.#observer.notify = (sql) => {
      replicas?.noticed(sql);
      for (const one of listeners) one({ connection: this.name, sql });
    };
  }
}
