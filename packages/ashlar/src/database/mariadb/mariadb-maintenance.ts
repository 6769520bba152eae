import { setTimeout as sleep } from "node:timers/promises";
import { CompiledQuery } from "kysely";
import { AshlarError } from "../../support/index.ts";
import type { Executor, Row } from "../dialect/dialect.ts";
import type { MariadbConnection } from "./mariadb-connection.ts";
import "../errors.ts";

/** How long to wait before trying to get the lock of migrations again, in milliseconds. */
const LOCK_RETRY_MS = 50;

/** Names of locks are the server's, not the database's, and at most 64 characters long. */
const LOCK_NAME = "concat('ashlar.', left(sha2(database(), 256), 40))";

const LOCK_HOLDER = `select id, host from information_schema.processlist where id = is_used_lock(${LOCK_NAME})`;

const TABLES = `select table_name as name, table_type as kind, auto_increment as next from information_schema.tables
  where table_schema = database()`;

/** The kinds of tables that are dropped in another way. */
const KINDS: Readonly<Record<string, string>> = { VIEW: "view", SEQUENCE: "sequence" };

/** The lock that one process at a time holds while it migrates. The server releases it if the connection ends. */
export class MigrationLock {
  readonly #timeoutMs: number;
  readonly #statementTimeoutMs: number | null;
  readonly #depths = new WeakMap<MariadbConnection, number>();

  /**
   * @param timeoutMs how long to wait for another process
   * @param statementTimeoutMs how long statements may take outside of migrations; `null` for no limit
   */
  constructor(timeoutMs: number, statementTimeoutMs: number | null) {
    this.#timeoutMs = timeoutMs;
    this.#statementTimeoutMs = statementTimeoutMs;
  }

  /**
   * Waits for the lock. Statements on the connection may then take any time, since changing a large table does.
   *
   * @throws `E_MIGRATION` if another process holds it for too long
   */
  async take(connection: MariadbConnection): Promise<void> {
    const end = performance.now() + this.#timeoutMs;
    // Polled: a statement that waits would count against the limit of its time.
    while ((await run(connection, `select get_lock(${LOCK_NAME}, 0) as locked`))[0]!.locked !== 1) {
      if (performance.now() >= end) throw await this.#locked(connection);
      await sleep(LOCK_RETRY_MS);
    }
    const depth = this.#depths.get(connection) ?? 0;
    this.#depths.set(connection, depth + 1);
    if (depth === 0) await connection.limitStatements(null);
  }

  async release(connection: MariadbConnection): Promise<void> {
    // The server has released it, and what ended the connection is the error to report.
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

/** Drops every table, view and sequence. */
export async function dropAll(connection: Executor): Promise<void> {
  await withoutForeignKeys(connection, async () => {
    for (const { name, kind } of await run(connection, TABLES)) {
      await run(connection, `drop ${KINDS[String(kind)] ?? "table"} if exists ${quoted(String(name))}`);
    }
  });
}

/**
 * Deletes every row, and counts keys from 1 again. `truncate` would write each table to the disk again, even an empty one.
 *
 * @param kept the tables that are left unchanged
 */
export async function emptyAll(connection: Executor, kept: readonly string[]): Promise<void> {
  await withoutForeignKeys(connection, async () => {
    for (const { name, kind, next } of await run(connection, TABLES)) {
      if (KINDS[String(kind)] !== undefined || kept.includes(String(name))) continue;
      await run(connection, `delete from ${quoted(String(name))}`);
      if (Number(next) > 1) await run(connection, `alter table ${quoted(String(name))} auto_increment = 1`);
    }
  });
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
