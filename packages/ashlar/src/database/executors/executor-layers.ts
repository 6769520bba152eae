// The executors that wrap a dialect's: one repeats statements, one makes them wait for their turn, one traces them.
import { setTimeout as sleep } from "node:timers/promises";
import type { CompiledQuery, QueryResult } from "kysely";
import { AshlarError, type MaybePromise, traceChannels, traced } from "../../support/index.ts";
import type { ColumnValue, Executor, Row } from "../dialect/executor.ts";
import { DatabaseError } from "../errors.ts";

/** How often the framework's own transactions are retried. */
export const CONFLICT_RETRIES = 5;
/** How often a statement outside of transactions is retried: many at once may compete for one row. */
const STATEMENT_RETRIES = 20;

const FIRST_WAIT_MS = 5;
const LONGEST_WAIT_MS = 200;

/**
 * Whether the database refused a statement because of another transaction: it had no effect, and may succeed next time.
 */
export function isConflict(error: unknown): boolean {
  return error instanceof AshlarError && error.code === "E_DATABASE_CONFLICT";
}

/**
 * Retries work that the database refused because of a conflict, after a random, growing pause, so that several retries
 * don't collide again.
 *
 * @param retries the maximum number of retries
 * @param failure the error of the first attempt
 * @param isRepeated whether an attempt that failed with this error is retried
 * @throws the error of the last attempt, or of an attempt that failed for another reason
 */
export async function again<T>(
  retries: number,
  failure: unknown,
  attempt: () => MaybePromise<T>,
  isRepeated: (error: unknown) => boolean = isConflict,
): Promise<T> {
  let latest = failure;
  for (let n = 0; n < retries && isRepeated(latest); n++) {
    await sleep(Math.random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** n));
    try {
      return await attempt();
    } catch (error) {
      latest = error;
    }
  }
  throw latest;
}

/** Runs statements outside of transactions, and retries those that met a conflict. */
export class RetryingExecutor implements Executor {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  execute(query: CompiledQuery): MaybePromise<QueryResult<Row>> {
    const done = this.#executor.execute(query);
    if (!(done instanceof Promise)) return done;
    return done.catch((error) => again(STATEMENT_RETRIES, error, () => this.#executor.execute(query)));
  }

  first(sql: string, value: ColumnValue): MaybePromise<Row | undefined> {
    const done = this.#executor.first(sql, value);
    if (!(done instanceof Promise)) return done;
    return done.catch((error) => again(STATEMENT_RETRIES, error, () => this.#executor.first(sql, value)));
  }
}

/**
 * Runs statements one at a time, and makes them wait while a transaction has the connection exclusively: a transaction
 * on the connection, or a nested transaction inside a transaction.
 */
export class LockedExecutor implements Executor {
  readonly #executor: Executor;
  readonly #mutex: Mutex;
  #ended = false;

  constructor(executor: Executor, mutex: Mutex) {
    this.#executor = executor;
    this.#mutex = mutex;
  }

  execute(query: CompiledQuery): MaybePromise<QueryResult<Row>> {
    return this.#mutex.run(() => this.#usable.execute(query));
  }

  first(sql: string, value: ColumnValue): MaybePromise<Row | undefined> {
    return this.#mutex.run(() => this.#usable.first(sql, value));
  }

  /** Runs the statements that were requested before, and then refuses more. */
  async end(): Promise<void> {
    await this.#mutex.acquire(true);
    this.#ended = true;
    this.#mutex.release();
  }

  get #usable(): Executor {
    if (!this.#ended) return this.#executor;
    throw new DatabaseError("The transaction has ended. Was a query in it not awaited?", null);
  }
}

interface Waiter {
  /** When it began to wait, in milliseconds of `performance.now()`. */
  readonly since: number;
  readonly proceed: () => void;
  readonly timer: NodeJS.Timeout | undefined;
}

/** Runs one task at a time; the others wait in order of arrival. */
export class Mutex {
  readonly #timeoutMs: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<Waiter>();
  #held = false;
  #waitedMs = 0;

  /**
   * @param timeoutMs how long a task may wait for its turn, in milliseconds
   * @param maxWaiting how many tasks may wait
   */
  constructor(timeoutMs: number, maxWaiting: number = Number.POSITIVE_INFINITY) {
    this.#timeoutMs = timeoutMs;
    this.#maxWaiting = maxWaiting;
  }

  /** How long the current task has waited for its turn, in milliseconds. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** Whether it is free, so that `run` and `acquire` don't wait. */
  get free(): boolean {
    return !this.#held;
  }

  /** How many tasks wait for their turn. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits for the caller's turn, or not at all if the mutex is free. `release` must follow.
   *
   * @param patient whether to wait indefinitely
   * @throws `E_OVERLOADED` if too many wait already, or the timeout passes before the turn comes
   */
  acquire(patient = false): MaybePromise<void> {
    if (!this.#held) {
      this.#held = true;
      this.#waitedMs = 0;
      return;
    }
    if (this.#waiting.size >= this.#maxWaiting && !patient) {
      const problem = `Transactions are using the connection to the database, and ${this.#maxWaiting} more are waiting for it.`;
      return Promise.reject(new AshlarError("E_OVERLOADED", problem));
    }
    return new Promise((resolve, reject) => {
      const timer = patient ? undefined : setTimeout(() => giveUp(), this.#timeoutMs);
      const waiter: Waiter = { since: performance.now(), proceed: resolve, timer };
      // Waiting forever would be a deadlock if a transaction awaits, even indirectly, a query outside of it.
      const giveUp = (): void => {
        this.#waiting.delete(waiter);
        const others = this.#waiting.size === 0 ? "" : `, and ${this.#waiting.size} more are waiting for it`;
        const problem = `No turn on the connection to the database came within ${this.#timeoutMs} ms: transactions are using it${others}.`;
        const remedy = "Keep transactions short, or set acquireTimeoutMs in config/database.ts.";
        reject(new AshlarError("E_OVERLOADED", `${problem} ${remedy}`));
      };
      this.#waiting.add(waiter);
    });
  }

  /** Lets the next waiting task run. */
  release(): void {
    for (const waiter of this.#waiting) {
      this.#waiting.delete(waiter);
      clearTimeout(waiter.timer);
      this.#waitedMs = performance.now() - waiter.since;
      // It stays locked: the turn is handed over, so that no other caller gets in between.
      waiter.proceed();
      return;
    }
    this.#held = false;
  }

  /** Runs one task exclusively. If the mutex is free and the task is synchronous, so is this. */
  run<T>(task: () => MaybePromise<T>): MaybePromise<T> {
    const turn = this.acquire();
    if (turn !== undefined) return turn.then(() => this.#runHeld(task));
    return this.#runHeld(task);
  }

  #runHeld<T>(task: () => MaybePromise<T>): MaybePromise<T> {
    let result: MaybePromise<T>;
    try {
      result = task();
    } catch (error) {
      this.release();
      throw error;
    }
    if (result instanceof Promise) return result.finally(() => this.release());
    this.release();
    return result;
  }
}

/** The connection, for {@link tracedExecutor}. */
export interface TracedConnection {
  /** The connection's name in `config/database.ts`. */
  readonly name: string;
  /** The name of its dialect. */
  readonly dialect: string;
}

/** An executor whose statements are traced; if no one listens, the executor itself. */
export function tracedExecutor(executor: Executor, connection: TracedConnection): Executor {
  return traceChannels.query.hasSubscribers ? new TracedExecutor(executor, connection) : executor;
}

class TracedExecutor implements Executor {
  readonly #executor: Executor;
  readonly #connection: TracedConnection;

  constructor(executor: Executor, connection: TracedConnection) {
    this.#executor = executor;
    this.#connection = connection;
  }

  execute(query: CompiledQuery): MaybePromise<QueryResult<Row>> {
    return this.#traced(query.sql, () => this.#executor.execute(query));
  }

  first(sql: string, value: ColumnValue): MaybePromise<Row | undefined> {
    return this.#traced(sql, () => this.#executor.first(sql, value));
  }

  #traced<T>(sql: string, work: () => T): T {
    const { name, dialect } = this.#connection;
    return traced(traceChannels.query, { connection: name, dialect, sql }, work);
  }
}
