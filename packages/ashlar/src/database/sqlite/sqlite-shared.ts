import type { CompiledQuery, QueryResult } from "kysely";
import type { MaybePromise } from "../../support/index.ts";
import type { Observer } from "../dialect/dialect.ts";
import type { ColumnValue, Executor, Row } from "../dialect/executor.ts";
import type { DatabaseError } from "../errors.ts";
import type { LockedExecutor } from "../executors/executor-layers.ts";
import type { CompleteSqliteSettings } from "./sqlite.ts";
import { isBusy } from "./sqlite-busy.ts";
import { SqliteConnection } from "./sqlite-connection.ts";

/**
 * Statements that need the writing connection because they use its latest keys and counts, its settings, or its
 * temporary tables.
 */
const OF_THE_WRITER = /\b(?:last_insert_rowid|changes|total_changes)\s*\(|\bpragma_|\bsqlite_temp_|\btemp"?\s*\./i;
/** The primary result code for a write on a read-only connection, https://www.sqlite.org/rescode.html */
const READ_ONLY = 8;

/**
 * Runs statements outside of transactions. Reads have their own connection and never wait. Everything else waits its
 * turn among the transactions on the single writing connection.
 *
 * A read sees every earlier commit, including this process's own. The reading connection can't write, whatever the
 * statement. A database in memory doesn't have one, so its reads wait their turn too.
 */
export class SqliteShared implements Executor {
  readonly #writer: SqliteConnection;
  readonly #line: LockedExecutor;
  readonly #settings: CompleteSqliteSettings;
  readonly #observer: Observer;
  #reader: Executor | null = null;
  #ownReader: SqliteConnection | null = null;

  constructor(writer: SqliteConnection, line: LockedExecutor, settings: CompleteSqliteSettings, observer: Observer) {
    this.#writer = writer;
    this.#line = line;
    this.#settings = settings;
    this.#observer = observer;
  }

  execute(query: CompiledQuery): MaybePromise<QueryResult<Row>> {
    if (!isRead(query)) return this.#line.execute(query);
    try {
      const reader = this.open();
      const result = reader.execute(query);
      if (!(result instanceof Promise)) return result;
      return result.catch((error) => this.#inLine(error).execute(query));
    } catch (error) {
      return this.#inLine(error).execute(query);
    }
  }

  first(text: string, value: ColumnValue): MaybePromise<Row | undefined> {
    try {
      const reader = this.open();
      const row = reader.first(text, value);
      if (!(row instanceof Promise)) return row;
      return row.catch((error) => this.#inLine(error).first(text, value));
    } catch (error) {
      return this.#inLine(error).first(text, value);
    }
  }

  /** Returns the executor for a read that the reading connection can't handle. @throws the original error otherwise */
  #inLine(error: unknown): Executor {
    if (needsWriter(error)) return this.#line;
    throw error;
  }

  /**
   * Opens the writing connection, which creates the file and its log. Returns the executor for reads, whose connection
   * opens on first use.
   */
  open(): Executor {
    this.#writer.open();
    this.#reader ??= this.#openReader();
    return this.#reader;
  }

  #openReader(): Executor {
    // In memory, and on a file system that can't share a log, the writing connection is the only one.
    if (!this.#writer.hasWriteAheadLog) return this.#line;
    this.#ownReader = new SqliteConnection(this.#settings, this.#observer, { isReadOnly: true });
    return this.#ownReader;
  }

  /** Closes the reading connection. */
  close(): void {
    this.#ownReader?.close();
  }
}

/**
 * Whether a statement is a SELECT, built by Kysely or written by hand. A handwritten `with` might write, so it doesn't
 * count as one.
 */
function isRead({ query, sql }: CompiledQuery): boolean {
  if (query.kind !== "SelectQueryNode" && !/^\s*select\b/i.test(sql)) return false;
  return !OF_THE_WRITER.test(sql);
}

/**
 * Whether the statement may succeed on the writing connection, which waits for a locked file, and may have a missing
 * table as a temporary one.
 */
function needsWriter(error: unknown): boolean {
  if (isBusy(error)) return true;
  const { message, databaseCode } = error as DatabaseError;
  return message.includes("no such table") || (Number(databaseCode) & 0xff) === READ_ONLY;
}
