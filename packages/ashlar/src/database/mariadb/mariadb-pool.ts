import { setImmediate as nextTurn } from "node:timers/promises";
import type * as Mysql from "mysql2";
import type { MaybePromise } from "../../support/index.ts";
import { ConnectionSlots } from "../dialect/connection-slots.ts";
import type { ConnectionUsage } from "../dialect/dialect.ts";
import { DatabaseError } from "../errors.ts";
import { optionalPackage } from "../optional-package.ts";
import { type ClientSetup, MariadbClient } from "./mariadb-client.ts";
import type { MariadbServer } from "./mariadb-server.ts";

/**
 * A client that has been idle for longer than this, in milliseconds, is checked before it is handed out, because the
 * server's last message (such as that it is stopping) may not have been read yet.
 */
const IDLE_MS = 1000;
/**
 * A client that has been idle for longer than this must get a response from the server first, because firewalls
 * silently drop idle connections.
 */
const FORGOTTEN_MS = 30_000;
/** The time limit for that response, in milliseconds. */
const PING_MS = 1000;

/** Imports the driver. */
export type LoadMysql = () => Promise<typeof Mysql>;

/** A bounded number of clients, each used by one caller at a time. */
export class MariadbPool {
  readonly #setup: ClientSetup;
  readonly #load: LoadMysql;
  readonly #slots: ConnectionSlots;
  readonly #idle: MariadbClient[] = [];
  /** How many clients are handed out or being opened for a caller. */
  #used = 0;
  #server: MariadbServer | null = null;
  #closed: Promise<void> | null = null;

  constructor(setup: ClientSetup, load: LoadMysql = () => import("mysql2")) {
    this.#setup = setup;
    this.#load = load;
    this.#slots = new ConnectionSlots(setup.settings, setup);
  }

  /** The pool's use. An idle client whose connection the server has ended doesn't count as open. */
  get usage(): ConnectionUsage {
    const idle = this.#idle.filter(({ isDead }) => !isDead).length;
    const { poolSize } = this.#setup.settings;
    return { limit: poolSize, open: this.#used + idle, used: this.#used, waiting: this.#slots.waiting };
  }

  /**
   * Hands out a client. {@link giveBack} must follow.
   *
   * @throws `E_OVERLOADED` if no client became free in time, `E_MISSING_PACKAGE` if the driver is not installed, and
   * the driver's errors
   */
  async take(): Promise<MariadbClient> {
    if (this.#closed !== null) throw closedError();
    await this.#slots.take();
    this.#used++;
    try {
      if (this.#closed !== null) throw closedError();
      return (await this.#idleClient()) ?? (await this.#open());
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  /** @param isBroken whether the client is in an unknown state and must not be used again */
  giveBack(client: MariadbClient, isBroken: boolean): void {
    if (isBroken) client.destroy();
    else if (!client.isDead) this.#idle.push(client);
    this.#release();
  }

  /**
   * The kind of server: a promise until the first caller has connected. After that, callers don't have to wait, so a
   * statement joins its transaction's queue as soon as its function is called.
   */
  server(): MaybePromise<MariadbServer> {
    return (
      this.#server ??
      this.take()
        .then((client) => this.giveBack(client, false))
        .then(() => this.#server!)
    );
  }

  /** Waits until all clients have been given back, and closes them. */
  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  #release(): void {
    this.#used--;
    this.#slots.release();
  }

  async #end(): Promise<void> {
    await this.#slots.unused();
    await Promise.all(this.#idle.splice(0).map((client) => client.end()));
  }

  async #idleClient(): Promise<MariadbClient | null> {
    for (let client = this.#idle.pop(); client !== undefined; client = this.#idle.pop()) {
      const idleMs = performance.now() - client.usedAt;
      if (idleMs >= IDLE_MS) {
        // Waits two turns of the event loop, because the first may already be half over.
        await nextTurn();
        await nextTurn();
      }
      if (!client.isDead && (idleMs < FORGOTTEN_MS || (await client.isAlive(PING_MS)))) return client;
      client.destroy();
    }
    return null;
  }

  async #open(): Promise<MariadbClient> {
    const driver = await optionalPackage("mysql2", "A connection to MariaDB or MySQL", this.#load);
    const client = await MariadbClient.open(driver, this.#setup);
    this.#server = client.server;
    return client;
  }
}

function closedError(): DatabaseError {
  return new DatabaseError("The connection to the database is closed.", null);
}
