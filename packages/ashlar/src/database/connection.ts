import { AsyncLocalStorage } from "node:async_hooks";
import { type Compilable, CompiledQuery, type Transaction } from "kysely";
import { AshlarError, type MaybePromise, SourceLocation } from "../support/index.ts";
import type { ColumnValue, Dialect, Executor, Observer, Reservation, Row, TransactionOptions } from "./dialect.ts";
import { LockedExecutor } from "./locked-executor.ts";
import { LongTransactions, type ReportLongTransaction } from "./long-transactions.ts";
import { Mutex } from "./mutex.ts";
import { type PreparedStatement, queryTemplate } from "./parameters.ts";
import { RollbackLog } from "./rollback-log.ts";
import { boundTransaction, type Scopes, scopedKysely } from "./scoped-kysely.ts";
import type { QueryBuilder, Tables } from "./tables.ts";
import type { DeletePlan, InsertPlan, UpsertPlan, Write, WriteScope } from "./writes.ts";
import "./errors.ts";

/** A connection reserved for one caller, a transaction on it, or a nested one in that. */
interface Scope {
  readonly parent: Scope | null;
  readonly reservation: Reservation;
  /** What queries inside it run on. */
  readonly executor: LockedExecutor;
  /** Held by a nested scope while that lasts. */
  readonly mutex: Mutex;
  /** 0: reserved without a transaction; 1: a transaction; 2 or more: a savepoint. */
  readonly depth: number;
  /** What it changed in memory; `null` without a transaction. */
  readonly log: RollbackLog | null;
  open: boolean;
  /** Whether the connection's state is unknown, because even the rollback failed. */
  broken: boolean;
}

/** What {@link Connection.onQuery} reports about a statement. Values are left out: they may be secrets. */
export interface QueryEvent {
  /** The connection's name in `config/database.ts`. */
  readonly connection: string;
  readonly sql: string;
}

/** Receives a statement's error that was caught inside its transaction. */
export type ReportCaughtFailure = (error: AshlarError) => void;

/**
 * A database that the application is connected to.
 *
 * A query belongs to the transaction in whose function it was issued, however deep in the calls, without anything being
 * passed along; all others run outside of it.
 */
export class Connection {
  /** The connection's name in `config/database.ts`. */
  readonly name: string;
  /** Everything that differs from one database to the next. */
  readonly dialect: Dialect;
  /** Kysely on this connection. */
  readonly kysely: QueryBuilder;
  readonly #observer: Observer;
  readonly #scopes = new AsyncLocalStorage<Scope>();
  readonly #listeners = new Set<(query: QueryEvent) => void>();
  #longTransactions: LongTransactions | null = null;
  #reportCaughtFailure: ReportCaughtFailure | null = null;

  /** Connections are created by {@link Database}. */
  constructor(name: string, makeDialect: (observer: Observer) => Dialect) {
    this.name = name;
    this.#observer = { notify: null };
    this.dialect = makeDialect(this.#observer);
    this.kysely = this.guardedKysely(() => {});
  }

  /** Whether the caller is inside a transaction on this connection. */
  get inTransaction(): boolean {
    return (this.#scope?.depth ?? 0) > 0;
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
   * @returns what the function returns
   * @throws what the function throws; `E_OVERLOADED` if no connection became free in time; `E_DATABASE` if the database
   * cannot commit, or if a statement failed before and PostgreSQL refuses the next one
   */
  async transaction<T>(
    task: (trx: Transaction<Tables>) => MaybePromise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    const outer = this.#scope;
    if (outer === null) {
      const long = this.#longTransactions;
      if (long === null) return await this.reserved(() => this.transaction(task, options));
      // Captured here, while the caller is still in the stack; the time counts from when it has the connection.
      const place = new SourceLocation(this.transaction);
      return await this.reserved(() => long.watch(place, () => this.transaction(task, options)));
    }
    if (outer.depth > 0 && options.isolation !== undefined) {
      throw new AshlarError("E_INVALID_QUERY", "A nested transaction has the isolation of the one around it.");
    }
    // Siblings run one after the other: their savepoints would undo each other.
    await outer.mutex.acquire();
    try {
      return await this.#transactionIn(outer, task, options);
    } finally {
      outer.mutex.release();
    }
  }

  /**
   * Runs a function whose queries all use the same connection of the pool, without a transaction.
   *
   * @returns what the function returns
   * @throws what the function throws; `E_OVERLOADED` if no connection became free in time
   */
  async reserved<T>(task: () => MaybePromise<T>): Promise<T> {
    if (this.#scope !== null) return await task();
    const reservation = await this.dialect.reserve();
    const scope = this.#newScope(null, reservation);
    try {
      return await this.#scopes.run(scope, task);
    } finally {
      await scope.executor.end();
      scope.open = false;
      reservation.release(scope.broken);
    }
  }

  /**
   * The first row of a statement with one parameter: the fastest way to a row, for compiled statements.
   *
   * @internal
   */
  first(sql: string, value: ColumnValue): MaybePromise<Row | undefined> {
    return this.#executor.first(sql, value);
  }

  /**
   * The rows that a compiled statement returns.
   *
   * @internal
   */
  rows(sql: string, values: readonly ColumnValue[]): MaybePromise<Row[]> {
    const done = this.#executor.execute(CompiledQuery.raw(sql, [...values]));
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
      const done = this.#executor.execute(template(values));
      return done instanceof Promise ? done.then(({ rows }) => rows) : done.rows;
    };
  }

  /**
   * Prepares an insert that returns its row, or that has a condition; see `Writes`.
   *
   * @internal
   */
  prepareInsert(plan: InsertPlan): PreparedStatement {
    return this.#prepared(this.dialect.writes.insert(this.kysely, plan));
  }

  /**
   * Prepares an insert that updates the row with the same key if there is one; see `Writes`.
   *
   * @internal
   */
  prepareUpsert(plan: UpsertPlan): PreparedStatement {
    return this.#prepared(this.dialect.writes.upsert(this.kysely, plan));
  }

  /**
   * Prepares a deletion that returns its rows; see `Writes`.
   *
   * @internal
   */
  prepareDelete(plan: DeletePlan): PreparedStatement {
    return this.#prepared(this.dialect.writes.delete(this.kysely, plan));
  }

  /** Calls a listener before each statement. Call the returned function to remove it. */
  onQuery(listener: (query: QueryEvent) => void): () => void {
    this.#listeners.add(listener);
    this.#observer.notify = (sql) => {
      for (const one of this.#listeners) one({ connection: this.name, sql });
    };
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#observer.notify = null;
    };
  }

  /**
   * Reports transactions that are open for more than 200 ms: the location of each call, as `file:line`, once.
   *
   * It makes calls slightly more expensive, and is meant for development.
   */
  onLongTransaction(report: ReportLongTransaction): void {
    this.#longTransactions = new LongTransactions(report);
  }

  /**
   * Reports transactions that commit after a statement in them failed, which SQLite allows and PostgreSQL does not. The
   * report comes before the commit, with the error of the latest such statement.
   */
  onCaughtFailure(report: ReportCaughtFailure): void {
    this.#reportCaughtFailure = report;
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
    await this.dialect.close();
  }

  /**
   * Drops every table, view and type.
   *
   * @internal
   */
  async dropEverything(): Promise<void> {
    await this.reserved(() => this.dialect.dropEverything(this.#scope!.reservation.connection));
  }

  /**
   * Deletes every row, and counts keys from 1 again.
   *
   * @param kept the tables that are left unchanged
   * @internal
   */
  async emptyTables(kept: readonly string[]): Promise<void> {
    await this.reserved(() => this.dialect.emptyTables(this.#scope!.reservation.connection, kept));
  }

  /**
   * Kysely on this connection that calls a function before each statement, which throws to refuse it.
   *
   * @internal
   */
  guardedKysely(check: () => void): QueryBuilder {
    const connection = this;
    const scopes: Scopes = {
      get executor() {
        check();
        return connection.#executor;
      },
      transaction: (task, options) => this.transaction(task, options),
      reserved: (task) => this.reserved(task),
    };
    return scopedKysely(this.dialect, scopes);
  }

  /**
   * Runs a function in which tables can be rebuilt: dropping one does not delete rows of others. It must call {@link
   * checkForeignKeys} afterwards.
   *
   * @throws what the function throws
   * @internal
   */
  async rebuilding<T>(task: () => Promise<T>): Promise<T> {
    return await this.reserved(async () => {
      const { connection } = this.#scope!.reservation;
      await this.dialect.suspendForeignKeys(connection);
      try {
        return await task();
      } finally {
        await this.dialect.resumeForeignKeys(connection);
      }
    });
  }

  /**
   * Inside {@link rebuilding}: checks that every foreign key is valid.
   *
   * @throws `E_FOREIGN_KEY_VIOLATION` with the rows
   * @internal
   */
  async checkForeignKeys(): Promise<void> {
    await this.dialect.checkForeignKeys(this.#scope!.reservation.connection);
  }

  /**
   * Runs a function while no other process runs one in this way.
   *
   * @throws `E_MIGRATION` inside a transaction
   * @internal
   */
  async withMigrationLock<T>(task: () => Promise<T>): Promise<T> {
    if (this.inTransaction) throw new AshlarError("E_MIGRATION", "Migrations cannot run inside a transaction.");
    return await this.reserved(async () => {
      const { connection } = this.#scope!.reservation;
      await this.dialect.lockMigrations(connection);
      try {
        return await task();
      } finally {
        await this.dialect.unlockMigrations(connection);
      }
    });
  }

  /**
   * The log of the caller's transaction, `null` outside of one. Code that changes an object after a statement must get
   * the log before that statement.
   *
   * @internal
   */
  get rollbackLog(): RollbackLog | null {
    return this.#scope?.log ?? null;
  }

  /**
   * The innermost scope that the caller is in. One that has ended no longer counts: code that it left running is
   * outside.
   */
  get #scope(): Scope | null {
    let scope = this.#scopes.getStore() ?? null;
    while (scope !== null && !scope.open) scope = scope.parent;
    return scope;
  }

  get #executor(): Executor {
    return this.#scope?.executor ?? this.dialect.shared;
  }

  #prepared(write: Write): PreparedStatement {
    const scope: WriteScope = {
      execute: (query) => this.#executor.execute(query),
      transaction: (task) => this.transaction(task),
    };
    return (values) => write(scope, values);
  }

  #newScope(parent: Scope | null, reservation: Reservation): Scope {
    const mutex = new Mutex(this.dialect.acquireTimeoutMs);
    const executor = new LockedExecutor(reservation.connection, mutex);
    const depth = parent === null ? 0 : parent.depth + 1;
    const log = parent === null ? null : new RollbackLog(parent.log);
    return { parent, reservation, executor, mutex, depth, log, open: true, broken: false };
  }

  async #transactionIn<T>(
    outer: Scope,
    task: (trx: Transaction<Tables>) => MaybePromise<T>,
    options: TransactionOptions,
  ): Promise<T> {
    const { connection } = outer.reservation;
    const scope = this.#newScope(outer, outer.reservation);
    await this.#begin(scope, options);
    const { failure } = connection;
    connection.failure = null;
    const end = async (): Promise<void> => {
      await scope.executor.end();
      scope.open = false;
    };
    try {
      const result = await this.#scopes.run(scope, () => task(boundTransaction(this.dialect, scope.executor)));
      await end();
      if (connection.failure !== null) this.#reportCaughtFailure?.(connection.failure);
      if (scope.depth === 1) await this.dialect.commit(connection);
      else await connection.execute(CompiledQuery.raw(`release savepoint ${savepoint(scope)}`));
      scope.log!.commit();
      return result;
    } catch (error) {
      await end();
      await this.#rollback(scope);
      scope.log!.rollBack();
      throw error;
    } finally {
      connection.failure = failure;
    }
  }

  async #begin(scope: Scope, options: TransactionOptions): Promise<void> {
    const { connection } = scope.reservation;
    if (scope.depth === 1) await this.dialect.begin(connection, options);
    else await connection.execute(CompiledQuery.raw(`savepoint ${savepoint(scope)}`));
  }

  async #rollback(scope: Scope): Promise<void> {
    const { connection } = scope.reservation;
    try {
      await this.dialect.rollback(connection, scope.depth === 1 ? null : savepoint(scope));
    } catch {
      // The earlier error is the one to report; the connection is dropped, and the server rolls back with it.
      for (let one: Scope | null = scope; one !== null; one = one.parent) one.broken = true;
    }
  }
}

function savepoint(scope: Scope): string {
  return `nested_${scope.depth}`;
}
