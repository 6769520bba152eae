import { AsyncLocalStorage } from "node:async_hooks";
import { CompiledQuery, type Transaction } from "kysely";
import { AshlarError, type MaybePromise, SourceLocation, UnitOfWork } from "../../support/index.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { DialectTransactions, Reservation, TransactionOptions } from "../dialect/dialect-transactions.ts";
import type { Executor, PhysicalConnection } from "../dialect/executor.ts";
import type { Tables } from "../dialect/tables.ts";
import { again, isConflict, LockedExecutor, Mutex, type TracedConnection, tracedExecutor } from "./executor-layers.ts";
import type { LongTransactions } from "./long-transactions.ts";
import { RollbackLog } from "./rollback-log.ts";
import { boundTransaction, type KyselyDialect, type Scopes } from "./scoped-kysely.ts";
import "../errors.ts";

/** A connection reserved for one caller, a transaction on it, or a nested one in that. */
interface Scope {
  readonly parent: Scope | null;
  readonly reservation: Reservation;
  /** The executor of the queries inside it. */
  readonly executor: LockedExecutor;
  /** Held by a nested scope while it lasts. */
  readonly mutex: Mutex;
  /** 0: reserved without a transaction; 1: a transaction; 2 or more: a savepoint. */
  readonly depth: number;
  /** Its changes in memory; `null` without a transaction. */
  readonly log: RollbackLog | null;
  open: boolean;
  /** Whether the connection's state is unknown, because even the rollback failed. */
  broken: boolean;
}

/** Receives a statement's error that was caught inside its transaction. */
export type ReportCaughtFailure = (error: AshlarError) => void;

type Work = () => MaybePromise<void>;

/** Receives an error of work that ran after a commit. */
export type ReportFailedWork = (error: unknown) => void;

/** The transactions of a connection: which one the caller is in, and how each begins and ends. */
export class Transactions implements Scopes {
  /** Reports transactions that are open too long; `null` for no reports. */
  longTransactions: LongTransactions | null = null;
  /** Receives errors of statements in transactions that commit anyway; `null` for no reports. */
  reportCaughtFailure: ReportCaughtFailure | null = null;
  /** Receives errors of work after a commit; with `null`, they are unhandled. */
  reportFailedWork: ReportFailedWork | null = null;
  readonly #dialect: DialectTransactions;
  readonly #kysely: KyselyDialect;
  readonly #shared: Executor;
  readonly #connection: TracedConnection;
  /** The errors that transactions threw after a conflict, which their functions may have wrapped in another error. */
  readonly #conflicts = new WeakSet<object>();
  readonly #scopes = new AsyncLocalStorage<Scope>();

  /**
   * @param name the connection's name in `config/database.ts`
   * @param kysely Kysely's form of the dialect
   * @param shared the executor for statements outside of transactions
   */
  constructor(dialect: Dialect, name: string, kysely: KyselyDialect, shared: Executor) {
    this.#dialect = dialect.transactions;
    this.#kysely = kysely;
    this.#connection = { name, dialect: dialect.name };
    this.#shared = shared;
  }

  /** The executor of the caller's statements. */
  get executor(): Executor {
    return tracedExecutor(this.#scope?.executor ?? this.#shared, this.#connection);
  }

  /** How many transactions the caller is in: 0 for none, 2 or more if they are nested. */
  get depth(): number {
    return this.#scope?.depth ?? 0;
  }

  /** The log of the caller's transaction, `null` outside of one. */
  get log(): RollbackLog | null {
    return this.#scope?.log ?? null;
  }

  /** Runs a function in a transaction; see `Connection`. */
  async transaction<T>(task: (trx: Transaction<Tables>) => MaybePromise<T>, options: TransactionOptions): Promise<T> {
    const due: Work[] = [];
    const result = await this.#transaction(task, options, due);
    // Only now, when the connection has been released: the work may need one.
    await this.#runAll(due);
    return result;
  }

  /** Runs work after a commit; see `Connection.afterCommit`. */
  async afterCommit(work: Work): Promise<void> {
    const unit = UnitOfWork.current;
    if (unit === null) await this.#runAll([work]);
    else unit.afterCommit(work);
  }

  /** Starts all work, in order, and waits for it. A failure is reported, and doesn't keep the other work from running. */
  async #runAll(works: readonly Work[]): Promise<void> {
    if (works.length === 0) return;
    const outcomes = await Promise.allSettled(works.map(async (work) => work()));
    for (const outcome of outcomes) if (outcome.status === "rejected") this.#reportFailed(outcome.reason);
  }

  #reportFailed(error: unknown): void {
    if (this.reportFailedWork === null) void Promise.reject(error);
    else this.reportFailedWork(error);
  }

  /** @param due receives the work that the commit makes due */
  async #transaction<T>(
    task: (trx: Transaction<Tables>) => MaybePromise<T>,
    options: TransactionOptions,
    due: Work[],
  ): Promise<T> {
    const outer = this.#scope;
    if (outer === null) {
      const { retries = 0, ...once } = options;
      if (retries > 0) return await this.#repeated(task, once, retries, due);
      const long = this.longTransactions;
      if (long === null) return await this.reserved(() => this.#transaction(task, options, due));
      // Captured here, while the caller is still in the stack; the time counts from when it has the connection.
      const place = new SourceLocation(this.transaction);
      return await this.reserved(() => long.watch(place, () => this.#transaction(task, options, due)));
    }
    if (outer.depth > 0 && options.isolation !== undefined) {
      throw new AshlarError("E_INVALID_QUERY", "A nested transaction has the isolation of the one around it.");
    }
    // Siblings run one after the other: their savepoints would undo each other.
    await outer.mutex.acquire();
    try {
      return await this.#transactionIn(outer, task, options, due);
    } finally {
      outer.mutex.release();
    }
  }

  /** Runs a function in a transaction, and again in a new one if it met a conflict. */
  async #repeated<T>(
    task: (trx: Transaction<Tables>) => MaybePromise<T>,
    options: TransactionOptions,
    retries: number,
    due: Work[],
  ): Promise<T> {
    const attempt = () => this.#transaction(task, options, due);
    const isRepeated = (error: unknown) => isConflict(error) || this.#conflicts.has(Object(error));
    try {
      return await attempt();
    } catch (error) {
      return await again(retries, error, attempt, isRepeated);
    }
  }

  /** Runs a function with a reserved connection, which is the caller's if the caller has one; see `Connection`. */
  async reserved<T>(task: (connection: PhysicalConnection) => MaybePromise<T>): Promise<T> {
    const outer = this.#scope;
    if (outer !== null) return await task(outer.reservation.connection);
    const reservation = await this.#dialect.reserve();
    const scope = this.#newScope(null, reservation);
    try {
      return await this.#scopes.run(scope, () => task(reservation.connection));
    } finally {
      await scope.executor.end();
      scope.open = false;
      reservation.release(scope.broken);
    }
  }

  /**
   * The innermost scope that the caller is in. A scope that has ended is ignored: code that it left running is outside.
   */
  get #scope(): Scope | null {
    let scope = this.#scopes.getStore() ?? null;
    while (scope !== null && !scope.open) scope = scope.parent;
    return scope;
  }

  #newScope(parent: Scope | null, reservation: Reservation): Scope {
    const mutex = new Mutex(this.#dialect.acquireTimeoutMs);
    const executor = new LockedExecutor(reservation.connection, mutex);
    const depth = parent === null ? 0 : parent.depth + 1;
    const log = parent === null ? null : new RollbackLog(parent.log);
    return { parent, reservation, executor, mutex, depth, log, open: true, broken: false };
  }

  async #transactionIn<T>(
    outer: Scope,
    task: (trx: Transaction<Tables>) => MaybePromise<T>,
    options: TransactionOptions,
    due: Work[],
  ): Promise<T> {
    const { connection } = outer.reservation;
    const scope = this.#newScope(outer, outer.reservation);
    await this.#begin(scope, options);
    const { failure } = connection;
    connection.failure = null;
    const unit = new UnitOfWork();
    const own = tracedExecutor(scope.executor, this.#connection);
    const work = () => this.#scopes.run(scope, () => task(boundTransaction(this.#kysely, own)));
    const end = async (): Promise<void> => {
      await scope.executor.end();
      scope.open = false;
    };
    try {
      const result = await unit.run(work);
      await unit.ready();
      await end();
      if (connection.failure !== null) this.reportCaughtFailure?.(connection.failure);
      if (scope.depth === 1) await this.#dialect.commit(connection);
      else await connection.execute(CompiledQuery.raw(`release savepoint ${savepoint(scope)}`));
      scope.log!.commit();
      due.push(...unit.commit());
      return result;
    } catch (error) {
      unit.giveUp();
      await end();
      if (isConflict(connection.failure)) this.#conflicts.add(Object(error));
      await this.#rollback(scope);
      scope.log!.rollBack();
      unit.rollBack();
      throw error;
    } finally {
      connection.failure = failure;
    }
  }

  async #begin(scope: Scope, options: TransactionOptions): Promise<void> {
    const { connection } = scope.reservation;
    if (scope.depth === 1) await this.#dialect.begin(connection, options);
    else await connection.execute(CompiledQuery.raw(`savepoint ${savepoint(scope)}`));
  }

  async #rollback(scope: Scope): Promise<void> {
    const { connection } = scope.reservation;
    try {
      await this.#dialect.rollback(connection, scope.depth === 1 ? null : savepoint(scope));
    } catch {
      // The earlier error is the one to report; the connection is dropped, and the server rolls back with it.
      for (let one: Scope | null = scope; one !== null; one = one.parent) one.broken = true;
    }
  }
}

function savepoint(scope: Scope): string {
  return `nested_${scope.depth}`;
}
