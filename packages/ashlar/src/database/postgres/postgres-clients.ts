import { setImmediate as nextTurn } from "node:timers/promises";
import type { ConnectionOptions } from "node:tls";
import type { Pool, PoolClient } from "pg";
import { ConnectionSlots } from "../dialect/connection-slots.ts";
import type { ConnectionUsage, DialectSetup } from "../dialect/dialect.ts";
import type { Reservation } from "../dialect/dialect-transactions.ts";
import { tlsOptions } from "../dialect/tls-settings.ts";
import { DatabaseError } from "../errors.ts";
import { PostgresConnection } from "./postgres-connection.ts";
import { translatePostgresError, unreachableRemedy } from "./postgres-errors.ts";
import { openPool } from "./postgres-pool.ts";
import type { CompletePostgresSettings } from "./postgres-settings.ts";

/** The error of `pg` if the server did not respond to a new connection. */
const CONNECTION_TIMEOUT = "Connection terminated due to connection timeout";

/**
 * The idle time after which a connection is checked before the next statement, in milliseconds. A connection in
 * constant use learns from the responses when it was closed.
 */
const IDLE_MS = 1000;

/** The connections to one server: a bounded pool with a bounded queue in front of it. */
export class PostgresClients {
  readonly #settings: CompletePostgresSettings;
  readonly #setup: Pick<DialectSetup, "where" | "observer">;
  readonly #slots: ConnectionSlots;
  /** When each open connection was last returned, in milliseconds of `performance.now()`. */
  readonly #returnedAt = new WeakMap<PoolClient, number>();
  /** Connections that have failed or were closed by the server. */
  readonly #dead = new WeakSet<PoolClient>();
  /** The connections' encryption; `false` if there isn't any. */
  readonly #ssl: ConnectionOptions | false;
  #pool: Promise<Pool> | null = null;
  /** The pool, once it is open. */
  #openPool: Pool | null = null;
  #closed = false;

  /** @throws `E_INVALID_CONFIGURATION` if a certificate file can't be read */
  constructor(
    settings: CompletePostgresSettings,
    setup: Pick<DialectSetup, "where" | "root" | "observer" | "maxQueueMs">,
  ) {
    this.#settings = settings;
    this.#slots = new ConnectionSlots(settings, setup);
    this.#setup = setup;
    this.#ssl = settings.tls ? tlsOptions(settings.tls, setup) : false;
  }

  /** The pool's use. */
  get usage(): ConnectionUsage {
    const { totalCount = 0, idleCount = 0 } = this.#openPool ?? {};
    const { waiting } = this.#slots;
    return { limit: this.#settings.poolSize, open: totalCount, used: totalCount - idleCount, waiting };
  }

  /**
   * Reserves a connection.
   *
   * @throws `E_OVERLOADED` if too many are waiting, or if no connection became free in time; `E_DATABASE_UNAVAILABLE`
   * if the server cannot be reached
   */
  async reserve(): Promise<Reservation & { readonly connection: PostgresConnection }> {
    if (this.#closed) throw closedError();
    await this.#slots.take();
    const client = await this.#usable().catch((error: unknown) => {
      this.#slots.release();
      throw error;
    });
    const connection = new PostgresConnection(client, this.#setup.observer, this.#settings.statementTimeoutMs);
    const release = (broken: boolean): void => {
      this.#returnedAt.set(client, performance.now());
      client.release(broken || connection.broken);
      this.#slots.release();
    };
    return { connection, release };
  }

  /** Runs a function with a connection, which is returned afterwards. */
  async borrow<T>(use: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    const { connection, release } = await this.reserve();
    try {
      return await use(connection);
    } finally {
      release(false);
    }
  }

  /** Waits until all connections have been returned, and closes them. */
  async close(): Promise<void> {
    this.#closed = true;
    // If the pool couldn't be opened, the statement that needed it has reported that already.
    await this.#pool?.then((open) => open.end()).catch(() => undefined);
  }

  /** Takes a connection from the pool that, as far as is known, the server hasn't closed. */
  async #usable(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#client();
      const returnedAt = this.#returnedAt.get(client);
      if (returnedAt === undefined) return client;
      // The server may have closed the connection without this process having noticed. A statement sent now would be
      // lost, and couldn't be repeated, because it might have run. Waits two turns of the event loop, because the first
      // may already be half over.
      if (performance.now() - returnedAt >= IDLE_MS) {
        await nextTurn();
        await nextTurn();
      }
      if (!this.#dead.has(client)) return client;
      client.release(true);
    }
  }

  async #open(): Promise<Pool> {
    try {
      const pool = await openPool(this.#settings, this.#ssl);
      this.#openPool = pool;
      pool.on("connect", (client) => {
        const die = (): unknown => this.#dead.add(client);
        client.on("error", die).on("end", die);
      });
      return pool;
    } catch (error) {
      // The next statement tries again: the driver may be installed by then.
      this.#pool = null;
      throw error;
    }
  }

  async #client(): Promise<PoolClient> {
    if (this.#closed) throw closedError();
    this.#pool ??= this.#open();
    const pool = await this.#pool;
    try {
      return await pool.connect();
    } catch (error) {
      const { where } = this.#setup;
      if ((error as Error).message === CONNECTION_TIMEOUT) {
        const { acquireTimeoutMs } = this.#settings;
        const problem = `The database server did not respond within ${acquireTimeoutMs} ms.`;
        throw new DatabaseError(`${problem}${unreachableRemedy(where)}`, null, error, "E_DATABASE_UNAVAILABLE");
      }
      throw translatePostgresError(error, where);
    }
  }
}

function closedError(): DatabaseError {
  return new DatabaseError("The connection to the database is closed.", null);
}
