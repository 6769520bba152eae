import { setTimeout as pause } from "node:timers/promises";
import { AshlarError } from "../../support/index.ts";
import type { Connection } from "../connections/connection.ts";
import type { Executor } from "../dialect/executor.ts";
import "../errors.ts";

/** How long a migration's statements wait for a lock by default, in milliseconds. */
export const LOCK_TIMEOUT_MS = 2000;

/** The number of attempts to get a lock. */
const ATTEMPTS = 12;
/** The longest pause between two of them, in halves of an attempt's timeout. */
const LONGEST_PAUSE = 5;

/**
 * Keeps a migration from stopping the application: while a statement waits for a table's lock, no other statement can
 * use the table, not even one that only reads. So it gives up after a short time, lets the statements behind it run,
 * and tries again.
 *
 * If the database can roll back schema changes, the whole migration is retried, so that it holds no lock while it waits
 * for the next. Otherwise, only the statement is.
 */
export class LockWaits {
  readonly #connection: Connection;
  readonly #timeoutMs: number;
  readonly #waiting: (attempts: number, pauseMs: number) => void;

  /**
   * @param timeoutMs how long a statement waits for a lock
   * @param waiting called before each pause, with the number of attempts so far, and its length
   */
  constructor(connection: Connection, timeoutMs: number, waiting: (attempts: number, pauseMs: number) => void) {
    this.#connection = connection;
    this.#timeoutMs = timeoutMs;
    this.#waiting = waiting;
  }

  /** Runs a task in a transaction, and retries it if it has waited too long for a lock. */
  transaction<T>(task: () => Promise<T>): Promise<T> {
    return this.#repeated(() => {
      return this.#connection.transaction(async () => {
        await this.#connection.maintenance.limitLockWaits(this.#timeoutMs);
        return task();
      });
    });
  }

  /** Runs a task without a transaction; see {@link repeating} for its statements. */
  async alone<T>(task: () => Promise<T>): Promise<T> {
    if (!this.#repeatsStatements) return task();
    await this.#connection.maintenance.limitLockWaits(this.#timeoutMs);
    try {
      return await task();
    } finally {
      await this.#connection.maintenance.limitLockWaits(null);
    }
  }

  /**
   * An executor that retries a statement that has waited too long for a lock. For a database that can roll back schema
   * changes, it is the same executor: there, a statement outside of a transaction, such as one that creates an index
   * without locking the table, waits as long as it has to, because it leaves something behind if it fails.
   *
   * @param again called before each repetition of a statement
   */
  repeating(executor: Executor, again: () => void = () => {}): Executor {
    if (!this.#repeatsStatements) return executor;
    return {
      execute: (query) => this.#repeated(async () => executor.execute(query), again),
      first: (sql, value) => executor.first(sql, value),
    };
  }

  get #repeatsStatements(): boolean {
    return !this.#connection.dialect.maintenance.schemaIsTransactional;
  }

  async #repeated<T>(task: () => Promise<T>, again: () => void = () => {}): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await task();
      } catch (error) {
        if (!this.#connection.maintenance.limitsLockWaits || !hasWaited(error)) throw error;
        if (attempts === ATTEMPTS) throw this.#lockedFor(error);
        const pauseMs = (Math.min(attempts, LONGEST_PAUSE) * this.#timeoutMs) / 2;
        this.#waiting(attempts, pauseMs);
        await pause(pauseMs);
        again();
      }
    }
  }

  #lockedFor(error: AshlarError): AshlarError {
    const problem = `A lock couldn't be had in ${ATTEMPTS} attempts of ${this.#timeoutMs} ms each, because another connection holds it.`;
    const remedy =
      "Find out which one, such as a long query or a transaction that was left open, or migrate at a quieter time.";
    return new AshlarError("E_MIGRATION", `${problem} ${remedy} ${error.message}`, { cause: error });
  }
}

/** Reports whether the database has given up waiting for a lock. */
function hasWaited(error: unknown): error is AshlarError {
  return error instanceof AshlarError && error.code === "E_DATABASE_BUSY";
}
