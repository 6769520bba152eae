import { AshlarError } from "../../support/index.ts";
import type { DialectMaintenance } from "../dialect/dialect-maintenance.ts";
import type { Transactions } from "../executors/transactions.ts";
import "../errors.ts";

/** What migrations and tests do to a connection's database besides running statements; see `DialectMaintenance`. */
export class ConnectionMaintenance {
  readonly #transactions: Transactions;
  readonly #dialect: DialectMaintenance;

  constructor(transactions: Transactions, dialect: DialectMaintenance) {
    this.#transactions = transactions;
    this.#dialect = dialect;
  }

  /** Drops every table, view and type. */
  async dropEverything(): Promise<void> {
    await this.#transactions.reserved((connection) => this.#dialect.dropEverything(connection));
  }

  /**
   * Deletes every row, and restarts keys at 1.
   *
   * @param kept the tables that are left unchanged
   */
  async emptyTables(kept: readonly string[]): Promise<void> {
    await this.#transactions.reserved((connection) => this.#dialect.emptyTables(connection, kept));
  }

  /**
   * Runs a function in which tables can be rebuilt: dropping one does not delete rows of others. It must call
   * {@link checkForeignKeys} afterwards.
   *
   * @throws whatever the function throws
   */
  async rebuilding<T>(task: () => Promise<T>): Promise<T> {
    return await this.#transactions.reserved(async (connection) => {
      await this.#dialect.suspendForeignKeys(connection);
      try {
        return await task();
      } finally {
        await this.#dialect.resumeForeignKeys(connection);
      }
    });
  }

  /**
   * Inside {@link rebuilding}: checks that every foreign key is valid.
   *
   * @throws `E_FOREIGN_KEY_VIOLATION` with the rows
   */
  async checkForeignKeys(): Promise<void> {
    await this.#transactions.reserved((connection) => this.#dialect.checkForeignKeys(connection));
  }

  /**
   * Runs a function while no other process runs one in this way.
   *
   * @throws `E_MIGRATION` inside a transaction
   */
  async withMigrationLock<T>(task: () => Promise<T>): Promise<T> {
    if (this.#transactions.depth > 0) {
      throw new AshlarError("E_MIGRATION", "Migrations cannot run inside a transaction.");
    }
    return await this.#transactions.reserved(async (connection) => {
      await this.#dialect.lockMigrations(connection);
      try {
        return await task();
      } finally {
        await this.#dialect.unlockMigrations(connection);
      }
    });
  }

  /** Whether {@link limitLockWaits} has an effect. */
  get limitsLockWaits(): boolean {
    return this.#dialect.limitLockWaits !== null;
  }

  /**
   * Limits how long a migration's statements wait for locks.
   *
   * @param timeoutMs in milliseconds; `null` restores the default
   */
  async limitLockWaits(timeoutMs: number | null): Promise<void> {
    await this.#transactions.reserved((connection) => this.#dialect.limitLockWaits?.(connection, timeoutMs));
  }
}
