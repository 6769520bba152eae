import type { ConnectionUsage, Dialect, Observer } from "../dialect/dialect.ts";
import type { DialectCopying } from "../dialect/dialect-copying.ts";
import type { DialectInspection } from "../dialect/dialect-inspection.ts";
import type { DialectValues } from "../dialect/dialect-values.ts";
import { LockedExecutor, Mutex } from "../executors/executor-layers.ts";
import type { CompleteSqliteSettings } from "./sqlite.ts";
import { SQLITE_VALUES } from "./sqlite-columns.ts";
import { SqliteConnection } from "./sqlite-connection.ts";
import { SQLITE_COPYING } from "./sqlite-copying.ts";
import { IN_MEMORY } from "./sqlite-file.ts";
import { SqliteMaintenance } from "./sqlite-maintenance.ts";
import { schemaRisk } from "./sqlite-schema-risks.ts";
import { SqliteShared } from "./sqlite-shared.ts";
import { SqliteTransactions } from "./sqlite-transactions.ts";

/** The queries that inspect a SQLite file's tables. */
const INSPECTION: DialectInspection = {
  uniqueColumnNames: `select min(info.name) as name from pragma_index_list(?) as list, pragma_index_info(list.name) as info
    where list."unique" = 1 and list.partial = 0 group by list.name having count(*) = 1`,
  looseText: null,
  plainTables: null,
  invalidIndexes: null,
  schemaRisk,
};

/**
 * SQLite through `node:sqlite`, whose statements run synchronously. One connection writes, and a transaction has it
 * exclusively until it ends. Another one is for reads outside of transactions, which never wait.
 *
 * Times are stored as ISO 8601 text in UTC, with milliseconds; booleans as 0 and 1. An integer arrives as a number, or
 * as a bigint if a number could not hold it exactly.
 */
export class SqliteDialect implements Dialect {
  readonly name = "sqlite";
  readonly file: string | null;
  readonly isInMemory: boolean;
  readonly values: DialectValues = SQLITE_VALUES;
  readonly transactions: SqliteTransactions;
  readonly maintenance: SqliteMaintenance;
  readonly inspection: DialectInspection = INSPECTION;
  readonly copying: DialectCopying = SQLITE_COPYING;
  readonly shared: SqliteShared;
  readonly #connection: SqliteConnection;
  readonly #mutex: Mutex;

  constructor(settings: CompleteSqliteSettings, observer: Observer) {
    this.isInMemory = settings.path === IN_MEMORY;
    this.file = this.isInMemory ? null : settings.path;
    this.#mutex = new Mutex(settings.acquireTimeoutMs, settings.maxWaiting);
    this.#connection = new SqliteConnection(settings, observer, { waitedMs: () => this.#mutex.waitedMs });
    this.transactions = new SqliteTransactions(this.#connection, this.#mutex, settings.acquireTimeoutMs);
    this.maintenance = new SqliteMaintenance(settings, (...given) => new SqliteDialect(...given));
    const line = new LockedExecutor(this.#connection, this.#mutex);
    this.shared = new SqliteShared(this.#connection, line, settings, observer);
  }

  usage(): ConnectionUsage {
    return { limit: 1, open: 1, used: this.#mutex.free ? 0 : 1, waiting: this.#mutex.waiting };
  }

  async connect(): Promise<void> {
    await this.#connection.connect();
    this.shared.open();
  }

  async close(): Promise<void> {
    await this.#mutex.acquire(true);
    // The writing connection is closed last, because it moves the log back into the file.
    this.shared.close();
    this.#connection.close();
    this.#mutex.release();
  }
}
