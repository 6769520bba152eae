import {
  type Connection,
  type PreparedStatement,
  pauseAfterBatch,
  type Row,
  StoreTable,
} from "../../database/index.ts";
import type { Container } from "../../kernel/index.ts";
import { digest } from "../../security/index.ts";
import { ConfigurationError, integer, now, systemTime } from "../../support/index.ts";
import type { Bucket } from "../limits/limit.ts";
import {
  CLEARED_AT_ONCE,
  type CountStatements,
  countStatements,
  PRUNED_AT_ONCE,
  START_LENGTH,
} from "./count-statements.ts";
import { MemoryStore } from "./memory-store.ts";
import { createRateLimitsTable, RATE_LIMITS_TABLE } from "./rate-limits-table.ts";
import type { AttemptCount, AttemptCounter, CountChange, ThrottleStore } from "./store.ts";

const STORE = "config/throttle.ts: THROTTLE.store";
/** The size of the separate pool. Three connections are enough for a few thousand attempts per second. */
const POOL = integer({ from: 0, to: 100 }, 3);
/**
 * Counts attempts in the table `rate_limits`, so an application's processes all count together, and no counts are lost
 * in a restart. One statement counts an attempt and returns the new count.
 *
 * On a database server, windows end by the server's clock, because the processes' clocks may differ. The table contains
 * digests, not addresses.
 *
 * An attempt counts even if the surrounding transaction is rolled back, because attempts in transactions are also kept
 * in this process's memory.
 */
export class DatabaseStore implements ThrottleStore {
  readonly #connection: () => Connection;
  readonly #inTransactions = new MemoryStore();
  /** The counters, by bucket name. */
  readonly #counters = new Map<string, DatabaseCounter>();
  readonly #table: (() => StoreTable) | null;
  #counts: CountTable | null = null;

  /**
   * @param connection returns the connection; called at boot, or when something is counted for the first time
   * @param poolSize the maximum size of the separate pool for its statements; with 0, they share the connection's pool
   * @param table returns the table if the store creates and checks it; called at boot
   */
  constructor(
    connection: () => Connection,
    poolSize: number = POOL.read(undefined, STORE),
    table: (() => StoreTable) | null = null,
  ) {
    this.#table = table;
    this.#connection = () => (poolSize === 0 ? connection() : connection().beside("limits", poolSize));
  }

  counter(bucket: Bucket): AttemptCounter {
    const counter = new DatabaseCounter(bucket, () => this.#countTable, this.#inTransactions.counter(bucket));
    this.#counters.set(bucket.name, counter);
    return counter;
  }

  async addTogether(changes: readonly CountChange[]): Promise<readonly AttemptCount[]> {
    const [first] = changes;
    if (changes.length === 1) return [await this.#counterOf(first!).add(first!.key, first!.cost)];
    const stored = await this.#runTogether("addTogether", changes);
    return Promise.all(
      changes.map((change, index) => this.#counterOf(change).keep(change.key, change.cost, stored[index]!)),
    );
  }

  async clear(bucket: Bucket): Promise<number> {
    const { clear } = this.#countTable.statements;
    let cleared = 0;
    for (;;) {
      const begun = performance.now();
      const { length } = await clear({ start: idStart(bucket.name) });
      cleared += length;
      if (length < CLEARED_AT_ONCE) break;
      await pauseAfterBatch(begun);
    }
    await this.#inTransactions.clear(bucket);
    return cleared;
  }

  async takeBackTogether(changes: readonly CountChange[]): Promise<void> {
    if (changes.length > 0) await this.#runTogether("takeBackTogether", changes);
    for (const change of changes) await this.#counterOf(change).takeBackKept(change.key, change.cost);
  }

  /**
   * Runs one statement for all changes. It writes rows in the order of their keys, so two such statements never deadlock.
   *
   * @returns the counts, in the order of the changes
   */
  async #runTogether(
    name: "addTogether" | "takeBackTogether",
    changes: readonly CountChange[],
  ): Promise<readonly AttemptCount[]> {
    const table = this.#countTable;
    const ids = changes.map(({ bucket, key }) => rowId(bucket.name, key));
    const inOrder = ids.map((_, index) => index).toSorted((a, b) => (ids[a]! < ids[b]! ? -1 : 1));
    const given: Record<string, string | number> = { clock: clockOn(table.connection) };
    for (const [position, index] of inOrder.entries()) {
      const { bucket, cost } = changes[index]!;
      given[`id_${position}`] = ids[index]!;
      given[`cost_${position}`] = cost;
      given[`window_${position}`] = bucket.windowSeconds * 1000;
    }
    const rows = await table[name](changes.length)(given);
    if (name === "takeBackTogether") return [];
    const counts = new Map(rows.map((row) => [row.id, row]));
    return changes.map(({ bucket }, index) => countOf(counts.get(ids[index]!)!, bucket.windowSeconds * 1000));
  }

  /** Prepared at the first count, because by then, the table exists. */
  get #countTable(): CountTable {
    this.#counts ??= countTableOn(this.#connection());
    return this.#counts;
  }

  #counterOf({ bucket }: CountChange): DatabaseCounter {
    return this.#counters.get(bucket.name)!;
  }

  /**
   * Looks up the connection now, so that a wrong name fails at startup instead of at every attempt.
   *
   * @throws `E_INVALID_CONFIGURATION` if there is no such connection
   */
  checkConnection(): void {
    this.#connection();
  }

  /** Creates the table if no migration creates it. */
  async connect(): Promise<void> {
    await this.#table?.().prepare();
  }

  async check(): Promise<void> {
    await this.#table?.().check();
  }

  async prune(): Promise<number> {
    const { connection, statements } = this.#countTable;
    let pruned = 0;
    for (;;) {
      const begun = performance.now();
      const { length } = await statements.prune({ clock: clockOn(connection) });
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
 * Counts attempts in the database, for all processes of the application together. This is the default if the database has
 * the table `rate_limits`.
 *
 * ```ts
 * // config/throttle.ts
 * export const THROTTLE = { store: databaseStore({ connection: "limits" }) } satisfies ThrottleSettings;
 * ```
 *
 * Startup fails with `E_INVALID_CONFIGURATION` if there is no such connection.
 *
 * @param options `connection`: the connection's name in `config/database.ts`; default: the default connection.
 * `poolSize`: the size of a separate pool for its statements on a database server, 0 to 100; with 0, they share the
 * connection's pool. Default: 3. With a separate pool, a flood of attempts doesn't take connections away from other
 * statements, and attempts are still counted when all other connections are in use.
 */
export function databaseStore({
  connection,
  poolSize,
}: {
  readonly connection?: string;
  readonly poolSize?: number;
} = {}): (container: Container) => ThrottleStore {
  const own = POOL.read(poolSize, `${STORE}.poolSize`);
  return (container) => {
    const used = () => connectionOf(container, connection);
    const table = () => {
      const database = container.make("database");
      const name = RATE_LIMITS_TABLE;
      return new StoreTable({
        where: STORE,
        name,
        database,
        connection: used(),
        create: createRateLimitsTable,
        logger: container.make("logger"),
      });
    };
    return new DatabaseStore(used, own, table);
  };
}

/** @throws `E_INVALID_CONFIGURATION` if there is no database, or no connection with this name */
function connectionOf(container: Container, name: string | undefined): Connection {
  if (!container.has("database")) {
    const remedy = "Add DatabaseProvider to PROVIDERS in config/providers.ts.";
    throw new ConfigurationError(STORE, "it is the database, but the application has none.", remedy);
  }
  return container.make("database").connectionNamedBy(STORE, name);
}

class DatabaseCounter implements AttemptCounter {
  readonly #name: string;
  readonly #windowMs: number;
  readonly #table: () => CountTable;
  /** The attempts made in transactions that may still be rolled back. */
  readonly #inTransactions: AttemptCounter;
  /** Whether there have ever been any, so that applications without them don't check for each attempt. */
  #hasKept = false;

  constructor({ name, windowSeconds }: Bucket, table: () => CountTable, inTransactions: AttemptCounter) {
    this.#name = name;
    this.#windowMs = windowSeconds * 1000;
    this.#table = table;
    this.#inTransactions = inTransactions;
  }

  async add(key: string, cost: number): Promise<AttemptCount> {
    return this.keep(key, cost, (await this.#run("add", key, cost))!);
  }

  /** If an attempt was counted in a transaction, counts it in memory too. Returns the higher count. */
  async keep(key: string, cost: number, stored: AttemptCount): Promise<AttemptCount> {
    const { inTransaction } = this.#table().connection;
    if (!this.#hasKept && !inTransaction) return stored;
    const kept = await this.#inTransactions.get(key);
    if (kept === null && !inTransaction) return stored;
    this.#hasKept = true;
    const before = kept?.attempts ?? 0;
    const attempts = Math.max(stored.attempts, before + cost);
    return this.#inTransactions.add(key, attempts - before);
  }

  async takeBack(key: string, cost: number): Promise<void> {
    await this.#run("takeBack", key, cost);
    await this.takeBackKept(key, cost);
  }

  /** Takes back attempts counted in memory by {@link keep}. */
  async takeBackKept(key: string, cost: number): Promise<void> {
    if (this.#hasKept) await this.#inTransactions.takeBack(key, cost);
  }

  async get(key: string): Promise<AttemptCount | null> {
    const stored = await this.#run("get", key);
    if (!this.#hasKept) return stored;
    const kept = await this.#inTransactions.get(key);
    return kept !== null && kept.attempts > (stored?.attempts ?? 0) ? kept : stored;
  }

  async delete(key: string): Promise<void> {
    await this.#run("delete", key);
    if (this.#hasKept) await this.#inTransactions.delete(key);
  }

  async #run(name: "add" | "takeBack" | "get" | "delete", key: string, cost = 0): Promise<AttemptCount | null> {
    const { connection, statements } = this.#table();
    const [row] = await statements[name]({
      id: rowId(this.#name, key),
      clock: clockOn(connection),
      window: this.#windowMs,
      cost,
    });
    return row === undefined ? null : countOf(row, this.#windowMs);
  }
}

/** A count's primary key: 43 characters, the last 35 of which are 210 bits of a digest. */
function rowId(bucket: string, key: string): string {
  const whole = digest(`${bucket}\0${key}`);
  return idStart(bucket) + whole.slice(START_LENGTH);
}

/** The prefix of the ids of a bucket's counts. */
function idStart(bucket: string): string {
  return digest(bucket).slice(0, START_LENGTH);
}

function countOf(row: Row, windowMs: number): AttemptCount {
  return { attempts: Number(row.attempts), resetInMs: Math.min(Number(row.left_ms), windowMs) };
}

/** The framework's time, or its difference from the system's if the database server's clock is used. */
function clockOn({ dialect }: Connection): number {
  return dialect.values.serverTime === null ? now() : now() - systemTime();
}

/** Prepares the statement for each number of rows once. */
function byNumber(make: (rows: number) => PreparedStatement): (rows: number) => PreparedStatement {
  const made = new Map<number, PreparedStatement>();
  return (rows) => {
    let statement = made.get(rows);
    if (statement === undefined) {
      statement = make(rows);
      made.set(rows, statement);
    }
    return statement;
  };
}

/** A connection, and the statements that are prepared on it. */
interface CountTable extends Pick<CountStatements, "addTogether" | "takeBackTogether"> {
  readonly connection: Connection;
  readonly statements: CountStatements;
}

function countTableOn(connection: Connection): CountTable {
  const statements = countStatements(connection);
  return {
    connection,
    statements,
    addTogether: byNumber(statements.addTogether),
    takeBackTogether: byNumber(statements.takeBackTogether),
  };
}
