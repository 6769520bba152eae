import { CompiledQuery, type SelectQueryBuilder } from "kysely";
import type { MaybePromise } from "../../support/index.ts";
import type { DialectTransactions, Reservation, TransactionOptions } from "../dialect/dialect-transactions.ts";
import type { Executor } from "../dialect/executor.ts";
import type { Writes } from "../dialect/writes.ts";
import { returningWrites } from "../dialect/writes.ts";
import type { Mutex } from "../executors/executor-layers.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";

/** Transactions on the writing connection. Each has the connection to itself until it ends. */
export class SqliteTransactions implements DialectTransactions {
  readonly acquireTimeoutMs: number;
  readonly failureEndsTransaction = false;
  readonly writes: Writes = returningWrites;
  readonly #connection: SqliteConnection;
  readonly #mutex: Mutex;

  /** @param mutex held by the transaction that is using the connection */
  constructor(connection: SqliteConnection, mutex: Mutex, acquireTimeoutMs: number) {
    this.#connection = connection;
    this.#mutex = mutex;
    this.acquireTimeoutMs = acquireTimeoutMs;
  }

  reserve(): MaybePromise<Reservation> {
    const reservation: Reservation = { connection: this.#connection, release: () => this.#mutex.release() };
    const turn = this.#mutex.acquire();
    return turn === undefined ? reservation : turn.then(() => reservation);
  }

  async begin(connection: Executor, options: TransactionOptions): Promise<void> {
    // `immediate` takes the write lock now. If a transaction took it later, it couldn't wait for another process, and
    // would fail.
    const readOnly = options.readOnly === true;
    await connection.execute(CompiledQuery.raw(readOnly ? "begin" : "begin immediate"));
    this.#connection.isBegun = true;
    this.#connection.refuseWrites(readOnly);
  }

  async commit(connection: Executor): Promise<void> {
    await connection.execute(CompiledQuery.raw("commit"));
    this.#ended();
  }

  async rollback(connection: Executor, savepoint: string | null): Promise<void> {
    if (savepoint === null) this.#ended();
    // After some failures (a full disk, an I/O error), SQLite rolls back by itself.
    if (!this.#connection.inTransaction) return;
    const keys = this.#connection.keysGiven();
    if (savepoint === null) {
      await connection.execute(CompiledQuery.raw("rollback"));
    } else {
      await connection.execute(CompiledQuery.raw(`rollback to savepoint ${savepoint}`));
      await connection.execute(CompiledQuery.raw(`release savepoint ${savepoint}`));
    }
    await this.#connection.giveNoneAgain(keys);
  }

  #ended(): void {
    this.#connection.isBegun = false;
    this.#connection.refuseWrites(false);
  }

  /** Nothing to do: a transaction that writes has locked the whole file. */
  lockRows<DB, T extends keyof DB, O>(query: SelectQueryBuilder<DB, T, O>): SelectQueryBuilder<DB, T, O> {
    return query;
  }
}
