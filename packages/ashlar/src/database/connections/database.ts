import type { Transaction } from "kysely";
import { AshlarError, ConfigurationError, type MaybePromise, suggestion } from "../../support/index.ts";
import type { ConnectionUsage, Dialect, DialectSetup, DialectSource, ReplicaUsage } from "../dialect/dialect.ts";
import type { TransactionOptions } from "../dialect/dialect-transactions.ts";
import { OtherServerError } from "../dialect/server-settings.ts";
import type { QueryBuilder, Tables } from "../dialect/tables.ts";
import type { ReportLongTransaction } from "../executors/long-transactions.ts";
import type { ReportCaughtFailure, ReportFailedWork } from "../executors/transactions.ts";
import { Connection, type QueryEvent } from "./connection.ts";
import { IgnoredAttributes, type ReportIgnoredAttributes } from "./ignored-attributes.ts";
import { type CompleteDatabaseSettings, DATABASES, readDatabaseSettings } from "./settings.ts";
import "../errors.ts";

/**
 * The application's databases: the connections in `config/database.ts`, each opened on first use.
 *
 * Methods of the database itself use the default connection.
 */
export class Database {
  /** `DATABASES`, checked and complete. */
  readonly settings: CompleteDatabaseSettings;
  readonly #connections: ReadonlyMap<string, Connection>;
  /** Connections with the address of another kind of server, each with the error for using it. */
  readonly #elsewhere = new Map<string, OtherServerError>();
  readonly #default: Connection;

  /**
   * @param databases the `DATABASES` of `config/database.ts`
   * @param root the application's root, which paths of SQLite files are relative to
   * @param options.isInspected whether nothing may be created or changed
   * @param options.maxQueueMs how long requests may wait for a connection, as in `DialectSetup`
   * @throws `E_INVALID_CONFIGURATION`
   */
  constructor(
    databases: unknown,
    root: string,
    { isInspected = false, maxQueueMs = 0 }: { readonly isInspected?: boolean; readonly maxQueueMs?: number } = {},
  ) {
    this.settings = readDatabaseSettings(databases);
    const connections = new Map<string, Connection>();
    for (const [name, source] of Object.entries(this.settings.connections)) {
      try {
        const setup = { where: `${DATABASES}.${name}`, root, isInspected, maxQueueMs };
        connections.set(name, new Connection(name, (observer) => dialectOf(source, { ...setup, observer })));
      } catch (error) {
        if (!(error instanceof OtherServerError)) throw error;
        this.#elsewhere.set(name, error);
      }
    }
    this.#connections = connections;
    this.#default = this.connection();
  }

  /** Kysely on the default connection. A query through it runs in the current transaction of its caller. */
  get kysely(): QueryBuilder {
    return this.#default.kysely;
  }

  /** The dialect of the default connection. */
  get dialect(): Dialect {
    return this.#default.dialect;
  }

  /**
   * A connection by its name in `config/database.ts`.
   *
   * @param name default: the default connection
   * @throws `E_DATABASE` if there isn't one with this name; `E_INVALID_CONFIGURATION` if its `url` is the address of
   * another kind of server
   */
  connection(name: string = this.settings.default): Connection {
    const connection = this.#connections.get(name);
    if (connection !== undefined) return connection;
    const elsewhere = this.#elsewhere.get(name);
    if (elsewhere !== undefined) throw elsewhere;
    const near = suggestion(name, this.#connections.keys());
    throw new AshlarError("E_DATABASE", `There is no connection "${name}" in config/database.ts. ${near}`);
  }

  /**
   * The connection that a setting names.
   *
   * @param where the setting's location, for the message
   * @param name default: the default connection
   * @throws `E_INVALID_CONFIGURATION` if there isn't one with this name
   * @internal
   */
  connectionNamedBy(where: string, name: string | undefined): Connection {
    if (name === undefined || this.#connections.has(name) || this.#elsewhere.has(name)) return this.connection(name);
    const near = suggestion(name, this.#connections.keys());
    throw new ConfigurationError(where, `config/database.ts has no connection "${name}".`, near);
  }

  /**
   * Runs a function in a transaction on the default connection: commits when it returns, and rolls back when it throws.
   * Models and `kysely` take part automatically.
   *
   * ```ts
   * await database.transaction(async () => {
   *   const order = await Order.create({ user_id: user.id });
   *   await Stock.where("sku", sku).update({ reserved: true });
   * });
   * ```
   *
   * Put a statement that may fail, for example because its row already exists, into a nested transaction, and catch its
   * error around that: PostgreSQL refuses everything after a failed statement in the same transaction. SQLite
   * continues; in development, the log has a warning.
   *
   * ```ts
   * try {
   *   await database.transaction(() => Order.create({ number: 7 }));
   * } catch (error) {
   *   if (!(error instanceof UniqueViolationError)) throw error;
   * }
   * ```
   *
   * @returns the function's result
   * @throws whatever the function throws; `E_OVERLOADED` if no connection became free in time
   */
  transaction<T>(task: (trx: Transaction<Tables>) => MaybePromise<T>, options: TransactionOptions = {}): Promise<T> {
    return this.#default.transaction(task, options);
  }

  /** Runs work after the commit of every transaction that the caller is in, or at once; see `Connection`. */
  afterCommit(work: () => MaybePromise<void>): Promise<void> {
    return this.#default.afterCommit(work);
  }

  /** How much of each connection's pool is in use, by the connection's name; those whose driver can't tell are missing. */
  usage(): Readonly<Record<string, ConnectionUsage>> {
    return Object.fromEntries([...this.#connections.values()].flatMap((connection) => connection.usage()));
  }

  /**
   * Whether any connection has read replicas.
   *
   * @internal
   */
  get hasReplicas(): boolean {
    return [...this.#connections.values()].some(({ replicas }) => replicas !== null);
  }

  /**
   * Keeps tables on the primary of every connection that has read replicas, because security decisions depend on their
   * contents.
   *
   * @internal
   */
  keepOnPrimary(tables: readonly string[]): void {
    for (const connection of this.#connections.values()) connection.keepOnPrimary(tables);
  }

  /**
   * The names of the connections that have read replicas.
   *
   * @internal
   */
  replicated(): string[] {
    return [...this.#connections].flatMap(([name, { dialect }]) => ((dialect.replicas ?? null) === null ? [] : name));
  }

  /**
   * The state of each connection's read replicas, by the connection's name; connections without replicas are missing.
   *
   * @internal
   */
  replicaUsage(): Record<string, ReplicaUsage> {
    const used = [...this.#connections].map(([name, { replicas }]) => [name, replicas?.usage() ?? null] as const);
    return Object.fromEntries(used.filter((entry): entry is [string, ReplicaUsage] => entry[1] !== null));
  }

  /**
   * Reports read replicas that go down, fall behind, or come back, with the name of the connection.
   *
   * @internal
   */
  onReplica(report: (sentence: string, error: unknown, connection: string) => void): void {
    for (const [name, { replicas }] of this.#connections) {
      if (replicas !== null) replicas.report = (sentence, error) => report(sentence, error, name);
    }
  }

  /** Calls a listener before each statement on any connection. Call the returned function to remove it. */
  onQuery(listener: (query: QueryEvent) => void): () => void {
    const ends = [...this.#connections.values()].map((connection) => connection.onQuery(listener));
    return () => {
      for (const end of ends) end();
    };
  }

  /** Reports transactions that are open for more than 200 ms on any connection; see `Connection`. */
  onLongTransaction(report: ReportLongTransaction): void {
    for (const connection of this.#connections.values()) connection.onLongTransaction(report);
  }

  /**
   * Reports transactions that commit after a statement in them failed, on databases that allow it; see `Connection`.
   */
  onCaughtFailure(report: ReportCaughtFailure): void {
    for (const connection of this.#connections.values()) {
      if (!connection.dialect.transactions.failureEndsTransaction) connection.onCaughtFailure(report);
    }
  }

  /**
   * Reports errors of work that ran after a commit on any connection.
   *
   * @internal
   */
  onFailedWork(report: ReportFailedWork): void {
    for (const connection of this.#connections.values()) connection.onFailedWork(report);
  }

  /**
   * Reports attributes that `fill` and `create` of a model ignore, each once per model.
   *
   * @internal
   */
  onIgnoredAttributes(report: ReportIgnoredAttributes): void {
    const ignored = new IgnoredAttributes(report);
    for (const connection of this.#connections.values()) connection.ignoredAttributes = ignored;
  }

  /**
   * Reports database files that did not exist and that connecting creates, with the name of the connection.
   *
   * @internal
   */
  onCreated(report: (path: string, connection: string) => void): void {
    for (const [name, connection] of this.#connections) connection.onCreated((path) => report(path, name));
  }

  /**
   * Connects to the default database now instead of on the first query.
   *
   * @throws `E_DATABASE_UNAVAILABLE` or `E_DATABASE` if it cannot be reached, `E_MISSING_PACKAGE` if its driver is not
   * installed
   */
  async connect(): Promise<void> {
    await this.#default.connect();
  }

  /** Waits for running queries, and closes every connection. Later queries fail. */
  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((connection) => connection.close()));
  }
}

/** @throws `E_INVALID_CONFIGURATION` if a function does not create a dialect; and the function's errors */
function dialectOf(source: DialectSource, setup: DialectSetup): Dialect {
  const made: unknown = source(setup);
  const { values, transactions, maintenance } = Object(made) as Partial<Dialect>;
  if ([values, transactions, maintenance].every((contract) => typeof contract === "object")) return made as Dialect;
  const remedy = "Return an object with the members of Dialect, not a promise.";
  throw new ConfigurationError(setup.where, "is a function that does not return a dialect.", remedy);
}
