import type { Connection } from "../database/index.ts";
import type { Container } from "../kernel/index.ts";
import { digest } from "../security/index.ts";
import { ConfigurationError, now, suggestion } from "../support/index.ts";
import type { Bucket } from "./configuration.ts";
import { MemoryStore } from "./memory-store.ts";
import type { AttemptCount, AttemptCounter, ThrottleStore, ThrottleStoreSource } from "./store.ts";

/** The table of counts. */
export const RATE_LIMITS_TABLE = "rate_limits";

/** A window that seems to last longer than it should was begun before the clock was put back; this much may be chance. */
const SLACK_MS = 60_000;
/** How many counts one statement of {@link DatabaseStore.prune} deletes, so that nothing waits long for it. */
const PRUNED_AT_ONCE = 500;

/**
 * Counts attempts in the table `rate_limits`, so that all processes of an application count together, and a restart
 * forgets nothing. One statement counts an attempt and says how many there are.
 *
 * On PostgreSQL, windows end by the server's clock: the processes' own may differ. The table holds digests, and no
 * address in clear.
 *
 * An attempt counts although the transaction that it is counted in is rolled back: such attempts are kept in memory as
 * well, by this process.
 */
export class DatabaseStore implements ThrottleStore {
  readonly #connection: () => Connection;
  readonly #inTransactions = new MemoryStore();

  /** @param connection gives the connection; asked when something is first counted */
  constructor(connection: () => Connection) {
    this.#connection = connection;
  }

  counter(bucket: Bucket): AttemptCounter {
    return new DatabaseCounter(bucket, this.#connection, this.#inTransactions.counter(bucket));
  }

  /**
   * Looks for the connection, so that a wrong name ends the boot and does not fail each attempt.
   *
   * @throws what the function throws that gives the connection
   */
  checkConnection(): void {
    this.#connection();
  }

  async prune(): Promise<number> {
    const connection = this.#connection();
    const text = statementsFor(connection);
    let pruned = 0;
    for (;;) {
      const { length } = await connection.rows(text.prune, [clockValue(connection)]);
      pruned += length;
      if (length < PRUNED_AT_ONCE) return pruned;
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
 * The boot ends with `E_INVALID_CONFIGURATION` if there is no such connection.
 *
 * @param options `connection`: its name in `config/database.ts`; the default one if left out
 */
export function databaseStore({ connection }: { readonly connection?: string } = {}): ThrottleStoreSource {
  return (container) => new DatabaseStore(() => connectionOf(container, connection));
}

/** @throws `E_INVALID_CONFIGURATION` if there is no database, or no connection of this name */
function connectionOf(container: Container, name: string | undefined): Connection {
  const where = "config/throttle.ts: THROTTLE.store";
  if (!container.has("database")) {
    const remedy = "Add DatabaseProvider to PROVIDERS in config/providers.ts.";
    throw new ConfigurationError(where, "it is the database, and the application has none.", remedy);
  }
  const database = container.make("database");
  const { connections } = database.configuration;
  if (name === undefined || Object.hasOwn(connections, name)) return database.connection(name);
  const near = suggestion(name, Object.keys(connections));
  throw new ConfigurationError(where, `config/database.ts has no connection "${name}".`, near);
}

class DatabaseCounter implements AttemptCounter {
  readonly #name: string;
  readonly #windowMs: number;
  readonly #connection: () => Connection;
  /** What was counted in transactions, which may yet be rolled back. */
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

  async #run(name: keyof Statements, key: string, cost?: number): Promise<AttemptCount | null> {
    const connection = this.#connection();
    const values = [digest(`${this.#name}\0${key}`)];
    const clock = name === "delete" ? [] : [clockValue(connection), this.#windowMs];
    const [row] = await connection.rows(statementsFor(connection)[name], [
      ...values,
      ...clock,
      ...(cost === undefined ? [] : [cost]),
    ]);
    if (row === undefined) return null;
    const { attempts, left_ms: left } = row as { readonly attempts: unknown; readonly left_ms: unknown };
    return { attempts: Number(attempts), resetInMs: Math.min(Number(left), this.#windowMs) };
  }
}

/** What is run: `$1` the digest of the key, `$2` the clock, `$3` the window in milliseconds, `$4` the cost. */
interface Statements {
  readonly add: string;
  readonly takeBack: string;
  readonly get: string;
  readonly delete: string;
  /** With the clock as `$1`. */
  readonly prune: string;
}

/** What {@link Statements} take for the clock: the time itself, or how far the framework's is from the system's. */
function clockValue({ dialect }: Connection): number {
  return dialect === "sqlite" ? now() : now() - Date.now();
}

const STATEMENTS = {
  // As the server sees it: one time for a whole statement, and one clock for all processes.
  postgres: statements(
    (offset) => `(floor(extract(epoch from statement_timestamp()) * 1000) + ${offset}::bigint)::bigint`,
  ),
  sqlite: withNumberedMarks(statements((clock) => clock)),
};

function statementsFor({ dialect }: Connection): Statements {
  return STATEMENTS[dialect];
}

function statements(time: (parameter: string) => string): Statements {
  const at = time("$2");
  const table = RATE_LIMITS_TABLE;
  const isUnderWay = `${table}.resets_at > ${at} and ${table}.resets_at <= ${at} + $3 + ${SLACK_MS}`;
  const given = `attempts, ${table}.resets_at - ${at} as left_ms`;
  return {
    add: `insert into ${table} (id, attempts, resets_at) values ($1, $4, ${at} + $3)
      on conflict (id) do update set
        attempts = case when ${isUnderWay} then ${table}.attempts + excluded.attempts else excluded.attempts end,
        resets_at = case when ${isUnderWay} then ${table}.resets_at else excluded.resets_at end
      returning ${given}`,
    takeBack: `update ${table} set attempts = case when attempts > $4 then attempts - $4 else 0 end
      where id = $1 and ${isUnderWay}`,
    get: `select ${given} from ${table} where id = $1 and ${isUnderWay}`,
    delete: `delete from ${table} where id = $1`,
    // Looked at twice: an attempt that is counted in between begins a new window in the same row.
    prune: `delete from ${table} where resets_at <= ${time("$1")} and id in
      (select id from ${table} where resets_at <= ${time("$1")} limit ${PRUNED_AT_ONCE}) returning id`,
  };
}

/** SQLite writes its numbered parameters `?1`. */
function withNumberedMarks(all: Statements): Statements {
  const entries = Object.entries(all).map(([name, text]) => [name, text.replaceAll("$", "?")]);
  return Object.fromEntries(entries) as Statements;
}
