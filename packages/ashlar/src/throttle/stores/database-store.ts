import {
  type Connection,
  type Expression,
  type PreparedStatement,
  parameter,
  pauseAfterBatch,
  type Row,
  type SqlBool,
  StoreTable,
  sql,
} from "../../database/index.ts";
import type { Container } from "../../kernel/index.ts";
import { digest } from "../../security/index.ts";
import { ConfigurationError, integer, now, systemTime } from "../../support/index.ts";
import type { Bucket } from "../limits/limit.ts";
import { MemoryStore } from "./memory-store.ts";
import { createRateLimitsTable, RATE_LIMITS_TABLE } from "./rate-limits-table.ts";
import type { AttemptCount, AttemptCounter, CountChange, ThrottleStore } from "./store.ts";

/**
 * A window that seems to last longer than it should was started before the clock was set back; a difference up to this
 * may be chance.
 */
const SLACK_MS = 60_000;
const STORE = "config/throttle.ts: THROTTLE.store";
/** Three are enough for some thousand attempts a second. */
const POOL = integer({ from: 0, to: 100 }, 3);
/** How many counts one statement of {@link DatabaseStore.prune} deletes, so that other statements don't wait long. */
const PRUNED_AT_ONCE = 500;
/** How many counts one statement of {@link DatabaseStore.clear} deletes. Each looks through the table for them. */
const CLEARED_AT_ONCE = 5000;
/** How many characters the ids of a bucket's counts have in common. Two of 100 buckets share them once in 10^11 cases. */
const START_LENGTH = 8;

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
  /** By the names of their buckets. */
  readonly #counters = new Map<string, DatabaseCounter>();
  readonly #table: (() => StoreTable) | null;

  /**
   * @param connection returns the connection; called when something is counted for the first time
   * @param poolSize how many connections of their own its statements have at most; 0: none
   * @param table the table, if it is another one than the application's default; called at boot
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
    const counter = new DatabaseCounter(bucket, this.#connection, this.#inTransactions.counter(bucket));
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
    const connection = this.#connection();
    const { clear } = statementsOn(connection);
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
   * Rows are written in the order of their keys, so that two statements about the same rows never wait for each other.
   *
   * @returns the counts, in the order of the changes
   */
  async #runTogether(
    name: "addTogether" | "takeBackTogether",
    changes: readonly CountChange[],
  ): Promise<readonly AttemptCount[]> {
    const connection = this.#connection();
    const ids = changes.map(({ bucket, key }) => rowId(bucket.name, key));
    const inOrder = ids.map((_, index) => index).toSorted((a, b) => (ids[a]! < ids[b]! ? -1 : 1));
    const given: Record<string, string | number> = { clock: clockOn(connection) };
    for (const [position, index] of inOrder.entries()) {
      const { bucket, cost } = changes[index]!;
      given[`id_${position}`] = ids[index]!;
      given[`cost_${position}`] = cost;
      given[`window_${position}`] = bucket.windowSeconds * 1000;
    }
    const rows = await statementsOn(connection)[name](changes.length)(given);
    if (name === "takeBackTogether") return [];
    const counts = new Map(rows.map((row) => [row.id, row]));
    return changes.map(({ bucket }, index) => countOf(counts.get(ids[index]!)!, bucket.windowSeconds * 1000));
  }

  #counterOf({ bucket }: CountChange): DatabaseCounter {
    return this.#counters.get(bucket.name)!;
  }

  /**
   * Resolves the connection now, so that a wrong name makes the boot fail, rather than each attempt.
   *
   * @throws whatever the function throws that returns the connection
   */
  checkConnection(): void {
    this.#connection();
  }

  /** Creates the table where migrations don't. */
  async connect(): Promise<void> {
    await this.#table?.().prepare();
  }

  async check(): Promise<void> {
    await this.#table?.().check();
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
 * @param options `connection`: its name in `config/database.ts`; default: the default connection. `poolSize`: how many
 * connections to a database server its statements have to themselves, beyond those of the connection's pool, 0 to 100;
 * 0: none, so they share the pool. Default: 3. With them, a flood of attempts leaves the other statements their connections, and
 * limits are counted while all others are in use.
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
    return this.keep(key, cost, (await this.#run("add", key, cost))!);
  }

  /** Keeps what was counted in a transaction in memory, too, and returns the higher count. */
  async keep(key: string, cost: number, stored: AttemptCount): Promise<AttemptCount> {
    const kept = await this.#inTransactions.get(key);
    if (kept === null && !this.#connection().inTransaction) return stored;
    const before = kept?.attempts ?? 0;
    const attempts = Math.max(stored.attempts, before + cost);
    return this.#inTransactions.add(key, attempts - before);
  }

  async takeBack(key: string, cost: number): Promise<void> {
    await this.#run("takeBack", key, cost);
    await this.takeBackKept(key, cost);
  }

  /** Takes back what {@link keep} has kept. */
  takeBackKept(key: string, cost: number): Promise<void> {
    return this.#inTransactions.takeBack(key, cost);
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

  async #run(name: "add" | "takeBack" | "get" | "delete", key: string, cost = 0): Promise<AttemptCount | null> {
    const connection = this.#connection();
    const [row] = await statementsOn(connection)[name]({
      id: rowId(this.#name, key),
      clock: clockOn(connection),
      window: this.#windowMs,
      cost,
    });
    return row === undefined ? null : countOf(row, this.#windowMs);
  }
}

/** The primary key of a count: 43 characters, of which the last 35 are 210 bits of a digest. */
function rowId(bucket: string, key: string): string {
  const whole = digest(`${bucket}\0${key}`);
  return idStart(bucket) + whole.slice(START_LENGTH);
}

/** What the ids of a bucket's counts begin with. */
function idStart(bucket: string): string {
  return digest(bucket).slice(0, START_LENGTH);
}

function countOf(row: Row, windowMs: number): AttemptCount {
  return { attempts: Number(row.attempts), resetInMs: Math.min(Number(row.left_ms), windowMs) };
}

/**
 * Their parameters are `id`, the result of {@link rowId}; `start`, that of {@link idStart}; `clock`, that of {@link clockOn};
 * `window`, its length in milliseconds; and `cost`.
 */
interface Statements
  extends Readonly<Record<"add" | "takeBack" | "get" | "delete" | "clear" | "prune", PreparedStatement>> {
  /** For a number of rows, each with its own `id`, `cost` and `window`: `id_0` and so on. */
  readonly addTogether: (rows: number) => PreparedStatement;
  readonly takeBackTogether: (rows: number) => PreparedStatement;
}

const statements = new WeakMap<Connection, Statements>();

/**
 * The framework's time or, if the database server's clock is used, how far the framework's time is from the system's.
 */
function clockOn({ dialect }: Connection): number {
  return dialect.values.serverTime === null ? now() : now() - systemTime();
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
  const { serverTime } = connection.dialect.values;
  const [id, clock, cost] = [parameter("id"), parameter("clock"), parameter("cost")];
  const table = sql.raw(RATE_LIMITS_TABLE);
  // The server's view: one time for the whole statement, and one clock for all processes.
  const at = serverTime === null ? clock : sql`(${serverTime} + ${clock})`;
  const end = sql`${at} + ${parameter("window")}`;
  const isUnderWay = sql<SqlBool>`${table}.resets_at > ${at} and ${table}.resets_at <= ${end} + ${sql.lit(SLACK_MS)}`;
  const returning = ["attempts", sql`${table}.resets_at - ${at}`.as("left_ms")] as const;
  const all = connection.kysely.selectFrom(RATE_LIMITS_TABLE).where("id", "=", id);
  return {
    addTogether: byNumber((rows) => addition(connection, rows, at)),
    takeBackTogether: byNumber((rows) => subtraction(connection, rows, at)),
    add: connection.writes.upsert({
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
    clear: connection.writes.delete({
      table: RATE_LIMITS_TABLE,
      where: sql`substr(id, 1, ${sql.lit(START_LENGTH)}) = ${parameter("start")}`,
      limit: CLEARED_AT_ONCE,
      key: "id",
      returning: ["id"],
    }),
    prune: connection.writes.delete({
      table: RATE_LIMITS_TABLE,
      where: sql`resets_at <= ${at}`,
      limit: PRUNED_AT_ONCE,
      key: "id",
      returning: ["id"],
    }),
  };
}

/** Makes a statement for each number of rows once. */
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

function rowsOf(count: number, endOf: (position: number) => Expression<unknown>) {
  return Array.from({ length: count }, (_, position) => ({
    id: parameter(`id_${position}`),
    attempts: parameter(`cost_${position}`),
    resets_at: endOf(position),
  }));
}

/** Adds to several counts. The row that is to be stored has the cost and the end of a new window. */
function addition(connection: Connection, count: number, at: Expression<unknown>): PreparedStatement {
  const table = sql.raw(RATE_LIMITS_TABLE);
  return connection.writes.upsertRows({
    table: RATE_LIMITS_TABLE,
    rows: rowsOf(count, (position) => sql`${at} + ${parameter(`window_${position}`)}`),
    key: ["id"],
    changes: (incoming) => {
      const end = incoming("resets_at");
      const isUnderWay = sql`${table}.resets_at > ${at} and ${table}.resets_at <= ${end} + ${sql.lit(SLACK_MS)}`;
      return {
        attempts: sql`case when ${isUnderWay} then ${table}.attempts else 0 end + ${incoming("attempts")}`,
        resets_at: sql`case when ${isUnderWay} then ${table}.resets_at else ${end} end`,
      };
    },
    returning: ["id", "attempts", sql`${table}.resets_at - ${at}`.as("left_ms")],
  });
}

/**
 * Takes back from several counts. As an upsert, because that alone writes rows in a given order: a row that is missing is
 * stored as one whose window has ended.
 */
function subtraction(connection: Connection, count: number, at: Expression<unknown>): PreparedStatement {
  const table = sql.raw(RATE_LIMITS_TABLE);
  return connection.writes.upsertRows({
    table: RATE_LIMITS_TABLE,
    rows: rowsOf(count, () => sql`0`),
    key: ["id"],
    changes: (incoming) => {
      const taken = incoming("attempts");
      const isUnderWay = sql`${table}.resets_at > ${at} and ${table}.attempts > ${taken}`;
      return { attempts: sql`case when ${isUnderWay} then ${table}.attempts - ${taken} else 0 end` };
    },
    returning: [],
  });
}
