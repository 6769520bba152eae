import { CompiledQuery, type SelectQueryBuilder } from "kysely";
import type { DialectTransactions, Reservation, RowLock, TransactionOptions } from "../dialect/dialect-transactions.ts";
import type { Executor, PhysicalConnection } from "../dialect/executor.ts";
import type { Writes } from "../dialect/writes.ts";
import { returningWrites } from "../dialect/writes.ts";
import type { PostgresClients } from "./postgres-clients.ts";
import { PostgresConnection } from "./postgres-connection.ts";
import { afterFailure } from "./postgres-errors.ts";
import type { CompletePostgresSettings } from "./postgres-settings.ts";

/** Transactions on PostgreSQL, each on its own connection from the pool. */
export class PostgresTransactions implements DialectTransactions {
  readonly acquireTimeoutMs: number;
  readonly failureEndsTransaction = true;
  readonly writes: Writes = returningWrites;
  readonly #clients: PostgresClients;
  readonly #transactionPooling: boolean;

  constructor(clients: PostgresClients, { acquireTimeoutMs, transactionPooling }: CompletePostgresSettings) {
    this.#clients = clients;
    this.acquireTimeoutMs = acquireTimeoutMs;
    this.#transactionPooling = transactionPooling;
  }

  async reserve(): Promise<Reservation> {
    return await this.#clients.reserve();
  }

  async begin(connection: PhysicalConnection, { isolation, readOnly }: TransactionOptions): Promise<void> {
    const words = ["begin"];
    if (isolation !== undefined) words.push(`isolation level ${isolation}`);
    if (readOnly === true) words.push("read only");
    const own = connection instanceof PostgresConnection ? connection : null;
    const timeoutMs = this.#transactionPooling ? (own?.statementTimeoutMs ?? null) : null;
    // Sent in the same message, to save a round trip.
    const limit = timeoutMs === null ? "" : `; set local statement_timeout = ${timeoutMs}`;
    await connection.execute(CompiledQuery.raw(`${words.join(" ")}${limit}`));
    if (own !== null) own.isReadOnly = readOnly === true;
  }

  async commit(connection: PhysicalConnection): Promise<void> {
    const { rows } = await connection.execute(CompiledQuery.raw("commit"));
    if (rows[0]!.command !== "ROLLBACK") return;
    // If a statement has failed, the server answers the commit by rolling back, without an error.
    throw afterFailure(connection.failure, "The transaction was rolled back, because a statement in it had failed");
  }

  async rollback(connection: Executor, savepoint: string | null): Promise<void> {
    if (savepoint === null) return void (await connection.execute(CompiledQuery.raw("rollback")));
    await connection.execute(CompiledQuery.raw(`rollback to savepoint ${savepoint}`));
    await connection.execute(CompiledQuery.raw(`release savepoint ${savepoint}`));
  }

  lockRows<DB, T extends keyof DB, O>(
    query: SelectQueryBuilder<DB, T, O>,
    against: RowLock,
  ): SelectQueryBuilder<DB, T, O> {
    if (against === "reference") return query.forKeyShare();
    return against === "skip" ? query.forUpdate().skipLocked() : query.forUpdate();
  }
}
