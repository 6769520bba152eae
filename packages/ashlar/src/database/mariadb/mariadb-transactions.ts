import { CompiledQuery, type SelectQueryBuilder, sql } from "kysely";
import type { MaybePromise } from "../../support/index.ts";
import type { DialectTransactions, Reservation, RowLock, TransactionOptions } from "../dialect/dialect-transactions.ts";
import type { Executor, PhysicalConnection } from "../dialect/executor.ts";
import type { Writes } from "../dialect/writes.ts";
import type { MariadbConnection } from "./mariadb-connection.ts";
import { mariadbWrites } from "./mariadb-writes.ts";

/** Transactions on MariaDB and MySQL, each on its own connection from the pool. */
export class MariadbTransactions implements DialectTransactions {
  readonly acquireTimeoutMs: number;
  readonly failureEndsTransaction = false;
  readonly writes: Writes;
  readonly reserve: () => Promise<Reservation>;

  /** @param hasReturning whether inserts and deletions can return their rows */
  constructor(
    acquireTimeoutMs: number,
    reserve: () => Promise<Reservation>,
    hasReturning: () => MaybePromise<boolean>,
  ) {
    this.acquireTimeoutMs = acquireTimeoutMs;
    this.reserve = reserve;
    this.writes = mariadbWrites(hasReturning);
  }

  async begin(connection: PhysicalConnection, { isolation, readOnly }: TransactionOptions): Promise<void> {
    if (isolation !== undefined) await run(connection, `set transaction isolation level ${isolation}`);
    await run(connection, readOnly === true ? "start transaction read only" : "begin");
    (connection as MariadbConnection).inTransaction = true;
  }

  /** If the server has already rolled back the transaction, the connection refuses the commit. */
  async commit(connection: PhysicalConnection): Promise<void> {
    await run(connection, "commit");
    (connection as MariadbConnection).inTransaction = false;
  }

  async rollback(connection: PhysicalConnection, savepoint: string | null): Promise<void> {
    if (savepoint === null) return await (connection as MariadbConnection).rollback();
    await run(connection, `rollback to savepoint ${savepoint}`);
    await run(connection, `release savepoint ${savepoint}`);
  }

  lockRows<DB, T extends keyof DB, O>(
    query: SelectQueryBuilder<DB, T, O>,
    against: RowLock,
  ): SelectQueryBuilder<DB, T, O> {
    if (against === "reference") return query.modifyEnd(sql`lock in share mode`);
    return against === "skip" ? query.forUpdate().skipLocked() : query.forUpdate();
  }
}

async function run(connection: Executor, text: string): Promise<void> {
  await connection.execute(CompiledQuery.raw(text));
}
