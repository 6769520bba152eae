import type { CompiledQuery, QueryResult } from "kysely";
import type { MaybePromise } from "../../support/index.ts";
import type { ColumnValue, Executor, Row } from "../dialect/executor.ts";
import { DatabaseError } from "../errors.ts";
import type { Mutex } from "../mutex.ts";

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
