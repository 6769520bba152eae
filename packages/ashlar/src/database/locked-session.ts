import type { CompiledQuery, QueryResult } from "kysely";
import type { MaybePromise } from "../support/index.ts";
import type { ColumnValue, Row, Session } from "./dialect.ts";
import { DatabaseError } from "./errors.ts";
import type { Mutex } from "./mutex.ts";

/**
 * A session whose statements run one at a time, and wait while somebody has the session to himself: a transaction on
 * the connection, or a nested transaction inside a transaction.
 */
export class LockedSession implements Session {
  readonly #session: Session;
  readonly #mutex: Mutex;
  #ended = false;

  constructor(session: Session, mutex: Mutex) {
    this.#session = session;
    this.#mutex = mutex;
  }

  execute(query: CompiledQuery): MaybePromise<QueryResult<Row>> {
    return this.#mutex.run(() => this.#usable.execute(query));
  }

  first(sql: string, value: ColumnValue): MaybePromise<Row | undefined> {
    return this.#mutex.run(() => this.#usable.first(sql, value));
  }

  /** Lets nothing more run, once what was asked for before has run. */
  async end(): Promise<void> {
    await this.#mutex.acquire(true);
    this.#ended = true;
    this.#mutex.release();
  }

  get #usable(): Session {
    if (!this.#ended) return this.#session;
    throw new DatabaseError("The transaction has ended. Was a query in it not awaited?", null);
  }
}
