import type { CompiledQuery, QueryResult } from "kysely";
import { type MaybePromise, traceChannels, traced } from "../../support/index.ts";
import type { ColumnValue, Executor, Row } from "../dialect/executor.ts";

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
