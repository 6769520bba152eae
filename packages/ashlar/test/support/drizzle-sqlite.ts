import { AsyncLocalStorage } from "node:async_hooks";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { drizzle, type SqliteRemoteDatabase } from "drizzle-orm/sqlite-proxy";

/**
 * Drizzle on an in-memory database of `node:sqlite`, for which Drizzle has no driver. There is one connection, which a
 * transaction holds until it ends.
 */
export class DrizzleSqlite {
  readonly connection: DatabaseSync = new DatabaseSync(":memory:");
  readonly drizzle: SqliteRemoteDatabase;
  readonly #inside = new AsyncLocalStorage<true>();
  #last: Promise<unknown> = Promise.resolve();

  constructor() {
    this.drizzle = drizzle((sql, values, method) => this.#inTurn(async () => this.#execute(sql, values, method)));
  }

  /** Runs work in a transaction. */
  transaction<T>(work: () => Promise<T>): Promise<T> {
    return this.#inTurn(() => this.#inside.run(true, () => this.drizzle.transaction(work)));
  }

  /** Runs work after all earlier work, or immediately if it is inside a transaction. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside.getStore() === true) return work();
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }

  #execute(sql: string, values: SQLInputValue[], method: string): { rows: unknown[] } {
    const statement = this.connection.prepare(sql);
    statement.setReturnArrays(true);
    const rows = statement.all(...values) as unknown as unknown[][];
    return { rows: method === "get" ? rows[0]! : rows };
  }
}
