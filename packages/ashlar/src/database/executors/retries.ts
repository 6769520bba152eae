import { setTimeout as sleep } from "node:timers/promises";
import type { CompiledQuery, QueryResult } from "kysely";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import type { ColumnValue, Executor, Row } from "../dialect/executor.ts";

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
