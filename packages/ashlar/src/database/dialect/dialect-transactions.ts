import type { IsolationLevel, SelectQueryBuilder } from "kysely";
import type { MaybePromise } from "../../support/index.ts";
import type { PhysicalConnection } from "./executor.ts";
import type { Writes } from "./writes.ts";

/** Options for beginning a transaction. */
export interface TransactionOptions {
  /** The isolation level; default: the database's. SQLite is always `serializable`. */
  readonly isolation?: IsolationLevel;
  /** Whether it only reads: a statement in it that writes fails with `E_DATABASE`. */
  readonly readOnly?: boolean;
  /**
   * How often the whole function is run again, in a new transaction, if the database refuses one of its statements or
   * its commit because of another transaction (`E_DATABASE_CONFLICT`: a serialization failure or a deadlock); default:
   * 0. It has no effect on a nested transaction.
   */
  readonly retries?: number;
}

/** How connections are reserved, and how transactions begin, end and lock rows. */
export interface DialectTransactions {
  /** How long a caller waits for a connection, or for its turn inside a transaction, in milliseconds. */
  readonly acquireTimeoutMs: number;
  /** Whether a failed statement ends its transaction: later statements are refused, and so is the commit. */
  readonly failureEndsTransaction: boolean;
  /** Writes that return rows, or that depend on stored values. */
  readonly writes: Writes;
  /** Reserves a connection for one caller, until it is released. */
  reserve(): MaybePromise<{
    readonly connection: PhysicalConnection;
    /** @param broken whether the connection is in an unknown state and must not be used again */
    release(broken: boolean): void;
  }>;
  begin(connection: PhysicalConnection, options: TransactionOptions): MaybePromise<void>;
  commit(connection: PhysicalConnection): MaybePromise<void>;
  /** @param savepoint the savepoint to roll back to and release; `null` for the whole transaction */
  rollback(connection: PhysicalConnection, savepoint: string | null): MaybePromise<void>;
  /**
   * Makes a SELECT lock its rows until the transaction ends, and wait for other holders of the lock. A database with
   * one writer at a time returns the query as it is.
   *
   * @param against `change`: every change, because the transaction is about to change the rows itself; `reference`: only
   * what would break a reference to them, such as deleting them; `skip`: like `change`, but leaves out rows that someone
   * else has locked, or waits for them if the database can't do that
   */
  lockRows<DB, T extends keyof DB, O>(
    query: SelectQueryBuilder<DB, T, O>,
    against: "change" | "reference" | "skip",
  ): SelectQueryBuilder<DB, T, O>;
}

/** A connection that is reserved for one caller, until it is released. */
export type Reservation = Awaited<ReturnType<DialectTransactions["reserve"]>>;

/** What rows are locked against until the transaction ends. */
export type RowLock = Parameters<DialectTransactions["lockRows"]>[1];
