import type { CompiledQuery, QueryResult } from "kysely";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import type { ColumnValue, Executor, Row } from "../dialect/executor.ts";
import { DatabaseError } from "../errors.ts";

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

/** Lets one task in at a time; the others wait in the order in which they came. */
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

  /** How many wait for their turn. */
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

  /** Lets the next one in. */
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
