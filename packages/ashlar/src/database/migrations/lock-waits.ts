import { setTimeout as pause } from "node:timers/promises";
import { AshlarError } from "../../support/index.ts";
import type { Connection } from "../connections/connection.ts";
import type { Executor } from "../dialect/executor.ts";
import "../errors.ts";

/** How long a migration's statements wait for a lock by default, in milliseconds. */
export const LOCK_TIMEOUT_MS = 2000;

/** The number of attempts to get a lock. */
const ATTEMPTS = 12;
/** The longest pause between two attempts, as a multiple of half an attempt's timeout. */
const LONGEST_PAUSE = 5;

/**
 * Keeps a migration from stopping the application. While a statement waits to lock a table, no other statement can use
 * the table, not even to read. So the migration gives up after a short time, lets the statements behind it run, and
 * tries again.
 *
 * If the database can roll back schema changes, the whole migration is retried, so that it holds no locks while it
 * waits. Otherwise, only the statement is retried.
 */
export class LockWaits {
  readonly #connection: Connection;
  readonly #timeoutMs: number;
  readonly #waiting: (attempts: number, pauseMs: number) => void;

  /**
   * @param timeoutMs how long a statement waits for a lock
   * @param waiting called before each pause, with the number of attempts so far and the length of the pause
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
   * Returns an executor that retries statements that waited too long for a lock. If the database can roll back schema
   * changes, returns the same executor. There, a statement outside of a transaction, such as one that creates an index
   * without locking the table, waits as long as it has to, because it would leave something behind if it failed.
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

/** Whether the database gave up waiting for a lock. */
function hasWaited(error: unknown): error is AshlarError {
  return error instanceof AshlarError && error.code === "E_DATABASE_BUSY";
}
