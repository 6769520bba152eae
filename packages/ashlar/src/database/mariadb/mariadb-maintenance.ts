import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { CompiledQuery } from "kysely";
import { AshlarError } from "../../support/index.ts";
import type { DialectSetup } from "../dialect/dialect.ts";
import type { CreateDialect, DialectMaintenance, TestDatabase } from "../dialect/dialect-maintenance.ts";
import type { Executor, PhysicalConnection, Row } from "../dialect/executor.ts";
import type { MariadbConnection } from "./mariadb-connection.ts";
import type { CompleteMariadbSettings } from "./mariadb-settings.ts";
import "../errors.ts";

/** How long to wait while another process migrates: longer than most migrations of a large table take. */
const MIGRATION_TIMEOUT_MS = 600_000;

/** A statement that returns the names of a table's columns. */
export const COLUMN_NAMES =
  "select column_name as name from information_schema.columns where table_schema = database() and table_name = ?";

/** How long to wait before trying again to take the migration lock, in milliseconds. */
const LOCK_RETRY_MS = 50;

/** Lock names apply to the whole server, so they include the database. They can have at most 64 characters. */
const LOCK_NAME = "concat('ashlar.', left(sha2(database(), 256), 40))";

const LOCK_HOLDER = `select id, host from information_schema.processlist where id = is_used_lock(${LOCK_NAME})`;

const TABLES = `select table_name as name, table_type as kind, auto_increment as next from information_schema.tables
  where table_schema = database()`;

/** The kinds of tables that need their own drop statement. */
const KINDS: Readonly<Record<string, string>> = { VIEW: "view", SEQUENCE: "sequence" };

/** The lock that lets one process at a time migrate. The server releases it if the connection ends. */
export class MigrationLock {
  readonly #timeoutMs: number;
  readonly #statementTimeoutMs: number | null;
  readonly #depths = new WeakMap<MariadbConnection, number>();

  /**
   * @param timeoutMs how long to wait for another process
   * @param statementTimeoutMs how long statements outside of migrations may take; `null` for no limit
   */
  constructor(timeoutMs: number, statementTimeoutMs: number | null) {
    this.#timeoutMs = timeoutMs;
    this.#statementTimeoutMs = statementTimeoutMs;
  }

  /**
   * Waits for the lock. Statements on the connection have no time limit afterwards, because changing a large table may
   * take long.
   *
   * @throws `E_MIGRATION` if another process holds the lock for too long
   */
  async take(connection: MariadbConnection): Promise<void> {
    const end = performance.now() + this.#timeoutMs;
    // Polls, because waiting in a statement would count against its time limit.
    while ((await run(connection, `select get_lock(${LOCK_NAME}, 0) as locked`))[0]!.locked !== 1) {
      if (performance.now() >= end) throw await this.#locked(connection);
      await sleep(LOCK_RETRY_MS);
    }
    const depth = this.#depths.get(connection) ?? 0;
    this.#depths.set(connection, depth + 1);
    if (depth === 0) await connection.limitStatements(null);
  }

  async release(connection: MariadbConnection): Promise<void> {
    // The server has already released the lock, and the caller needs to see the error that broke the connection.
    if (connection.isBroken) return;
    const depth = this.#depths.get(connection)! - 1;
    this.#depths.set(connection, depth);
    await run(connection, `select release_lock(${LOCK_NAME})`);
    if (depth === 0) await connection.limitStatements(this.#statementTimeoutMs);
  }

  async #locked(connection: MariadbConnection): Promise<AshlarError> {
    const [holder] = await run(connection, LOCK_HOLDER);
    const problem = `Another process has been running migrations for more than ${this.#timeoutMs} ms.`;
    const remedy =
      holder === undefined
        ? "Migrate again."
        : `It is the server's connection ${holder.id} from ${holder.host}. Migrate again when it has ended; to end it: kill ${holder.id}`;
    return new AshlarError("E_MIGRATION", `${problem} ${remedy}`);
  }
}

/** The maintenance of MariaDB and MySQL databases for migrations and tests. */
export class MariadbMaintenance implements DialectMaintenance {
  readonly columnNames: string = COLUMN_NAMES;
  readonly schemaIsTransactional = false;
  readonly onlineIndex: DialectMaintenance["onlineIndex"] = { keyword: "", option: "lock = none", isInvalid: null };
  readonly #settings: CompleteMariadbSettings;
  readonly #setup: Pick<DialectSetup, "where" | "root" | "maxQueueMs">;
  readonly #create: CreateDialect<CompleteMariadbSettings>;
  readonly #migrationLock: MigrationLock;

  /** @param migrationTimeoutMs how long to wait while another process migrates */
  constructor(
    settings: CompleteMariadbSettings,
    setup: Pick<DialectSetup, "where" | "root" | "maxQueueMs">,
    create: CreateDialect<CompleteMariadbSettings>,
    migrationTimeoutMs: number = MIGRATION_TIMEOUT_MS,
  ) {
    this.#settings = settings;
    this.#setup = setup;
    this.#create = create;
    this.#migrationLock = new MigrationLock(migrationTimeoutMs, settings.statementTimeoutMs);
  }

  /** Nothing to do: a referenced table can't be dropped, and columns are changed in place. */
  suspendForeignKeys(): void {}
  checkForeignKeys(): void {}
  resumeForeignKeys(): void {}

  async lockMigrations(connection: PhysicalConnection): Promise<void> {
    await this.#migrationLock.take(connection as MariadbConnection);
  }

  async unlockMigrations(connection: PhysicalConnection): Promise<void> {
    await this.#migrationLock.release(connection as MariadbConnection);
  }

  /**
   * Sets the limit in whole seconds. It doesn't apply to row locks, because only waiting for a table lock holds up
   * other statements.
   */
  async limitLockWaits(connection: PhysicalConnection, timeoutMs: number | null): Promise<void> {
    const change =
      timeoutMs === null
        ? "session lock_wait_timeout = @ashlar_lock_wait"
        : `@ashlar_lock_wait = @@session.lock_wait_timeout, session lock_wait_timeout = ${Math.ceil(timeoutMs / 1000)}`;
    await connection.execute(CompiledQuery.raw(`set ${change}`));
  }

  async dropEverything(connection: PhysicalConnection): Promise<void> {
    await withoutForeignKeys(connection, async () => {
      for (const { name, kind } of await run(connection, TABLES)) {
        await run(connection, `drop ${KINDS[String(kind)] ?? "table"} if exists ${quoted(String(name))}`);
      }
    });
  }

  /** Deletes the rows, because `truncate` would write each table to disk again, even if it is empty. */
  async emptyTables(connection: PhysicalConnection, kept: readonly string[]): Promise<void> {
    await withoutForeignKeys(connection, async () => {
      for (const { name, kind, next } of await run(connection, TABLES)) {
        if (KINDS[String(kind)] !== undefined || kept.includes(String(name))) continue;
        await run(connection, `delete from ${quoted(String(name))}`);
        if (Number(next) > 1) await run(connection, `alter table ${quoted(String(name))} auto_increment = 1`);
      }
    });
  }

  async createTestDatabase(): Promise<TestDatabase> {
    const database = `ashlar_test_${randomBytes(8).toString("hex")}`;
    await this.#administer(`create database ${database}`);
    const settings = { ...this.#settings, database, read: [] };
    return {
      dialect: (setup) => this.#create(settings, setup),
      remove: () => this.#administer(`drop database if exists ${database}`),
    };
  }

  /** Runs a statement on a separate connection, because this dialect may already be closed, or its database missing. */
  async #administer(text: string): Promise<void> {
    const settings = {
      ...this.#settings,
      ...{ database: null, poolSize: 1, statementTimeoutMs: MIGRATION_TIMEOUT_MS, read: [] },
    };
    const server = this.#create(settings, { ...this.#setup, observer: { notify: null } });
    try {
      await server.shared.execute(CompiledQuery.raw(text));
    } finally {
      await server.close();
    }
  }
}

async function run(connection: Executor, text: string): Promise<Row[]> {
  return (await connection.execute(CompiledQuery.raw(text))).rows;
}

async function withoutForeignKeys(connection: Executor, task: () => Promise<void>): Promise<void> {
  await run(connection, "set foreign_key_checks = 0");
  try {
    await task();
  } finally {
    await run(connection, "set foreign_key_checks = 1");
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
