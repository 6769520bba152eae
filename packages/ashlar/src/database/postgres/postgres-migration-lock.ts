import { setTimeout as sleep } from "node:timers/promises";
import { CompiledQuery } from "kysely";
import { AshlarError } from "../../support/index.ts";
import type { Reservation } from "../dialect/dialect-transactions.ts";
import type { Executor, PhysicalConnection } from "../dialect/executor.ts";
import type { PostgresClients } from "./postgres-clients.ts";
import "../errors.ts";

/** The advisory lock held while migrations run: the bytes of "ashlar". */
const MIGRATION_LOCK = 0x6173686c6172;

/** How long to wait while another process migrates: longer than most migrations of a large table take. */
const MIGRATION_TIMEOUT_MS = 600_000;

/** How long to wait before trying again to take the lock, in milliseconds. */
const LOCK_RETRY_MS = 50;

// The catalog shows the 64-bit key of the lock in two halves. At most one process holds the lock.
const HOLDER = `
  select coalesce(min(format(
    'It is the server''s process %s%s. Migrate again when it has ended; to end it: select pg_terminate_backend(%1$s)',
    l.pid, ' from ' || host(a.client_addr)
  )), 'Migrate again.') as remedy
  from pg_locks l left join pg_stat_activity a using (pid)
  where l.locktype = 'advisory' and l.granted
  and l.classid = (${MIGRATION_LOCK}::bigint >> 32) and l.objid = (${MIGRATION_LOCK}::bigint & 4294967295)
  and l.database = (select oid from pg_database where datname = current_database())`;

/** Lets one process at a time run migrations: an advisory lock that lasts until the session ends. */
export class PostgresMigrationLock {
  readonly #timeoutMs: number;

  /** @param timeoutMs how long migrations wait for another process's migrations */
  constructor(timeoutMs: number = MIGRATION_TIMEOUT_MS) {
    this.#timeoutMs = timeoutMs;
  }

  /** @throws `E_MIGRATION` if another process still holds it when the wait is over */
  async acquire(connection: PhysicalConnection): Promise<void> {
    await takeLock(connection, "pg_try_advisory_lock", this.#timeoutMs);
  }

  async release(connection: PhysicalConnection): Promise<void> {
    await connection.execute(CompiledQuery.raw(`select pg_advisory_unlock(${MIGRATION_LOCK})`));
  }
}

/** A lock that one connection holds. */
interface HeldLock {
  /** How often it was taken, because migrations may run within other migrations. */
  depth: number;
  readonly reservation: Reservation;
  readonly clients: PostgresClients;
}

/**
 * The same lock, for connections through a pooler that gives each transaction a different session. A separate
 * transaction, on a separate connection, holds the lock while the migrations run. It has no snapshot between
 * statements, so `create index concurrently` doesn't wait for it.
 */
export class PostgresTransactionLock {
  readonly #open: () => PostgresClients;
  readonly #timeoutMs: number;
  readonly #held = new Map<PhysicalConnection, HeldLock>();

  /**
   * @param open opens connections to the server, for one lock
   * @param timeoutMs how long migrations wait for another process's migrations
   */
  constructor(open: () => PostgresClients, timeoutMs: number = MIGRATION_TIMEOUT_MS) {
    this.#open = open;
    this.#timeoutMs = timeoutMs;
  }

  /** @throws `E_MIGRATION` if another process still holds it when the wait is over */
  async acquire(connection: PhysicalConnection): Promise<void> {
    const held = this.#held.get(connection);
    if (held !== undefined) {
      held.depth += 1;
      return;
    }
    const clients = this.#open();
    try {
      const reservation = await clients.reserve();
      const begin = "begin; set local idle_in_transaction_session_timeout = 0";
      try {
        await reservation.connection.execute(CompiledQuery.raw(begin));
        await takeLock(reservation.connection, "pg_try_advisory_xact_lock", this.#timeoutMs);
      } catch (error) {
        reservation.release(true);
        throw error;
      }
      this.#held.set(connection, { depth: 1, reservation, clients });
    } catch (error) {
      await clients.close();
      throw error;
    }
  }

  /** @throws `E_DATABASE_UNAVAILABLE` if the lock was lost in the meantime, because its connection ended */
  async release(connection: PhysicalConnection): Promise<void> {
    const held = this.#held.get(connection)!;
    held.depth -= 1;
    if (held.depth > 0) return;
    this.#held.delete(connection);
    try {
      await held.reservation.connection.execute(CompiledQuery.raw("commit"));
    } finally {
      held.reservation.release(true);
      await held.clients.close();
    }
  }
}

async function takeLock(connection: Executor, call: string, timeoutMs: number): Promise<void> {
  const end = performance.now() + timeoutMs;
  // Polls, because a waiting statement has a snapshot: `create index concurrently` in another process would wait for
  // this statement, which waits for that process's lock.
  const attempt = CompiledQuery.raw(`select ${call}(${MIGRATION_LOCK}) as locked`);
  while ((await connection.execute(attempt)).rows[0]!.locked !== true) {
    if (performance.now() >= end) {
      const { rows } = await connection.execute(CompiledQuery.raw(HOLDER));
      const problem = `Another process has been running migrations for more than ${timeoutMs} ms.`;
      throw new AshlarError("E_MIGRATION", `${problem} ${rows[0]!.remedy}`);
    }
    await sleep(LOCK_RETRY_MS);
  }
}
