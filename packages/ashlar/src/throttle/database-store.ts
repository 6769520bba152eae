import {
  type Connection,
  type PreparedStatement,
  parameter,
  pauseAfterBatch,
  type SqlBool,
  sql,
} from "../database/index.ts";
import type { Container } from "../kernel/index.ts";
import { digest } from "../security/index.ts";
import { ConfigurationError, now, systemTime } from "../support/index.ts";
import { MemoryStore } from "./memory-store.ts";
import type { Bucket } from "./settings.ts";
import type { AttemptCount, AttemptCounter, ThrottleStore } from "./store.ts";

/** The table of counts. */
export const RATE_LIMITS_TABLE = "rate_limits";

/**
 * A window that seems to last longer than it should was started before the clock was set back; a difference up to this
 * may be chance.
 */
const SLACK_MS = 60_000;
/** How many counts one statement of {@link DatabaseStore.prune} deletes, so that other statements don't wait long. */
const PRUNED_AT_ONCE = 500;

/**
 * Counts attempts in the table `rate_limits`, so all processes of an application count together, and a restart loses
 * nothing. One statement counts an attempt and returns the new count.
 *
 * On PostgreSQL, windows end by the server's clock, because the processes' clocks may differ. The table holds digests,
 * not addresses.
 *
 * An attempt counts even if the transaction around it is rolled back: this process also keeps such attempts in memory.
 */
export class DatabaseStore implements ThrottleStore {
  readonly #connection: () => Connection;
  readonly #inTransactions = new MemoryStore();

  /** @param connection returns the connection; called when something is counted for the first time */
  constructor(connection: () => Connection) {
    this.#connection = connection;
  }

  counter(bucket: Bucket): AttemptCounter {
    return new DatabaseCounter(bucket, this.#connection, this.#inTransactions.counter(bucket));
  }

  /**
   * Resolves the connection now, so that a wrong name makes the boot fail, rather than each attempt.
   *
   * @throws what the function throws that returns the connection
   */
  checkConnection(): void {
    this.#connection();
  }

  async prune(): Promise<number> {
    const connection = this.#connection();
    const { prune } = statementsOn(connection);
    let pruned = 0;
    for (;;) {
      const begun = performance.now();
      const { length } = await prune({ clock: clockOn(connection) });
      pruned += length;
      if (length < PRUNED_AT_ONCE) return pruned;
      await pauseAfterBatch(begun);
    }
  }

  close(): void {
    this.#inTransactions.close();
  }
}

/**
 * Counts attempts in the database, for all processes of the application together: the default if there is a database with
 * the table `rate_limits`.
 *
 * ```ts
 * // config/throttle.ts
 * export const THROTTLE = { store: databaseStore({ connection: "limits" }) } satisfies ThrottleSettings;
 * ```
 *
 * The boot fails with `E_INVALID_CONFIGURATION` if there is no such connection.
 *
 * @param options `connection`: its name in `config/database.ts`; default: the default connection
 */
export function databaseStore({
  connection,
}: {
  readonly connection?: string;
} = {}): (container: Container) => ThrottleStore {
  return (container) => new DatabaseStore(() => connectionOf(container, connection));
}

/** @throws `E_INVALID_CONFIGURATION` if there is no database, or no connection with this name */
function connectionOf(container: Container, name: string | undefined): Connection {
  const where = "config/throttle.ts: THROTTLE.store";
  if (!container.has("database")) {
    const remedy = "Add DatabaseProvider to PROVIDERS in config/providers.ts.";
    throw new ConfigurationError(where, "it is the database, but the application has none.", remedy);
  }
  return container.make("database").connectionNamedBy(where, name);
}

class DatabaseCounter implements AttemptCounter {
  readonly #name: string;
  readonly #windowMs: number;
  readonly #connection: () => Connection;
  /** What was counted in transactions that may still be rolled back. */
  readonly #inTransactions: AttemptCounter;

  constructor({ name, windowSeconds }: Bucket, connection: () => Connection, inTransactions: AttemptCounter) {
    this.#name = name;
    this.#windowMs = windowSeconds * 1000;
    this.#connection = connection;
    this.#inTransactions = inTransactions;
  }

  async add(key: string, cost: number): Promise<AttemptCount> {
    const stored = (await this.#run("add", key, cost))!;
    const kept = await this.#inTransactions.get(key);
    if (kept === null && !this.#connection().inTransaction) return stored;
    const before = kept?.attempts ?? 0;
    const attempts = Math.max(stored.attempts, before + cost);
    return this.#inTransactions.add(key, attempts - before);
  }

  async takeBack(key: string, cost: number): Promise<void> {
    await this.#run("takeBack", key, cost);
    await this.#inTransactions.takeBack(key, cost);
  }

  async get(key: string): Promise<AttemptCount | null> {
    const stored = await this.#run("get", key);
    const kept = await this.#inTransactions.get(key);
    return kept !== null && kept.attempts > (stored?.attempts ?? 0) ? kept : stored;
  }

  async delete(key: string): Promise<void> {
    await this.#run("delete", key);
    await this.#inTransactions.delete(key);
  }

  async #run(name: keyof Statements, key: string, cost = 0): Promise<AttemptCount | null> {
    const connection = this.#connection();
    const [row] = await statementsOn(connection)[name]({
      id: digest(`${this.#name}\0${key}`),
      clock: clockOn(connection),
      window: this.#windowMs,
      cost,
    });
    if (row === undefined) return null;
    const { attempts, left_ms: left } = row as { readonly attempts: unknown; readonly left_ms: unknown };
    return { attempts: Number(attempts), resetInMs: Math.min(Number(left), this.#windowMs) };
  }
}

/**
 * Their parameters are `id`, the digest of the key; `clock`, the result of {@link clockOn}; `window`, its length in
 * milliseconds; and `cost`.
 */
type Statements = Readonly<Record<"add" | "takeBack" | "get" | "delete" | "prune", PreparedStatement>>;

const statements = new WeakMap<Connection, Statements>();

/**
 * The framework's time or, if the database server's clock is used, how far the framework's time is from the system's.
 */
function clockOn({ dialect }: Connection): number {
  return dialect.serverTime === null ? now() : now() - systemTime();
}

function statementsOn(connection: Connection): Statements {
  let made = statements.get(connection);
  if (made === undefined) {
    made = prepared(connection);
    statements.set(connection, made);
  }
  return made;
}

function prepared(connection: Connection): Statements {
  connection.keepOnPrimary([RATE_LIMITS_TABLE]);
  const { serverTime } = connection.dialect;
  const [id, clock, cost] = [parameter("id"), parameter("clock"), parameter("cost")];
  const table = sql.raw(RATE_LIMITS_TABLE);
  // The server's view: one time for the whole statement, and one clock for all processes.
  const at = serverTime === null ? clock : sql`(${serverTime} + ${clock})`;
  const end = sql`${at} + ${parameter("window")}`;
  const isUnderWay = sql<SqlBool>`${table}.resets_at > ${at} and ${table}.resets_at <= ${end} + ${sql.lit(SLACK_MS)}`;
  const returning = ["attempts", sql`${table}.resets_at - ${at}`.as("left_ms")] as const;
  const all = connection.kysely.selectFrom(RATE_LIMITS_TABLE).where("id", "=", id);
  return {
    add: connection.prepareUpsert({
      table: RATE_LIMITS_TABLE,
      values: { id, attempts: cost, resets_at: end },
      key: ["id"],
      changes: {
        attempts: sql`case when ${isUnderWay} then ${table}.attempts else 0 end + ${cost}`,
        resets_at: sql`case when ${isUnderWay} then ${table}.resets_at else ${end} end`,
      },
      returning,
    }),
    takeBack: connection.prepare(
      connection.kysely
        .updateTable(RATE_LIMITS_TABLE)
        .set({ attempts: sql`case when attempts > ${cost} then attempts - ${cost} else 0 end` })
        .where("id", "=", id)
        .where(isUnderWay),
    ),
    get: connection.prepare(all.select(returning).where(isUnderWay)),
    delete: connection.prepare(connection.kysely.deleteFrom(RATE_LIMITS_TABLE).where("id", "=", id)),
    prune: connection.prepareDelete({
      table: RATE_LIMITS_TABLE,
      where: sql`resets_at <= ${at}`,
      limit: PRUNED_AT_ONCE,
      key: "id",
      returning: ["id"],
    }),
  };
}
