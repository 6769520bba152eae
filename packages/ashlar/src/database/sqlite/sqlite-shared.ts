import type { CompiledQuery, QueryResult } from "kysely";
import type { MaybePromise } from "../../support/index.ts";
import type { ColumnValue, Executor, Observer, Row } from "../dialect.ts";
import type { DatabaseError } from "../errors.ts";
import type { LockedExecutor } from "../locked-executor.ts";
import type { SqliteSettings } from "./sqlite.ts";
import { SqliteConnection } from "./sqlite-connection.ts";

/** What only the connection that writes knows: its latest keys and counts, its settings, its temporary tables. */
const OF_THE_WRITER = /\b(?:last_insert_rowid|changes|total_changes)\s*\(|\bpragma_|\bsqlite_temp_|\btemp"?\s*\./i;
/** The primary result code of a write on a connection that only reads, https://www.sqlite.org/rescode.html */
const READ_ONLY = 8;

/**
 * What runs statements outside of transactions: reads on a connection of their own, which never waits, and everything
 * else in line with the transactions, on the one connection that writes.
 *
 * A read sees every commit before it, this process's own writes included. The connection for reading cannot write,
 * whatever a statement says; a database in memory has none, and its reads stand in line too.
 */
export class SqliteShared implements Executor {
  readonly #writer: SqliteConnection;
  readonly #line: LockedExecutor;
  readonly #settings: SqliteSettings;
  readonly #observer: Observer;
  #reader: Executor | null = null;
  #ownReader: SqliteConnection | null = null;

  constructor(writer: SqliteConnection, line: LockedExecutor, settings: SqliteSettings, observer: Observer) {
    this.#writer = writer;
    this.#line = line;
    this.#settings = settings;
    this.#observer = observer;
  }

  execute(query: CompiledQuery): MaybePromise<QueryResult<Row>> {
    if (!isRead(query)) return this.#line.execute(query);
    const reader = this.open();
    try {
      const result = reader.execute(query);
      if (!(result instanceof Promise)) return result;
      return result.catch((error) => this.#inLine(error).execute(query));
    } catch (error) {
      return this.#inLine(error).execute(query);
    }
  }

  first(text: string, value: ColumnValue): MaybePromise<Row | undefined> {
    const reader = this.open();
    try {
      const row = reader.first(text, value);
      if (!(row instanceof Promise)) return row;
      return row.catch((error) => this.#inLine(error).first(text, value));
    } catch (error) {
      return this.#inLine(error).first(text, value);
    }
  }

  /** What runs a read that the connection for reading cannot answer. @throws the error, where it is another one */
  #inLine(error: unknown): Executor {
    if (needsWriter(error)) return this.#line;
    throw error;
  }

  /** Opens the connection that writes, which makes the file and its log; the one for reading opens itself when it reads. */
  open(): Executor {
    this.#writer.open();
    this.#reader ??= this.#openReader();
    return this.#reader;
  }

  #openReader(): Executor {
    // In memory, and on a file system that cannot share a log, there is but the one.
    if (!this.#writer.hasWriteAheadLog) return this.#line;
    this.#ownReader = new SqliteConnection(this.#settings, this.#observer, true);
    return this.#ownReader;
  }

  /** Closes the connection for reading. */
  close(): void {
    this.#ownReader?.close();
  }
}

/** A SELECT, as Kysely built it or as it was written. One behind a raw `with` might write: it stands in line. */
function isRead({ query, sql }: CompiledQuery): boolean {
  if (query.kind !== "SelectQueryNode" && !/^\s*select\b/i.test(sql)) return false;
  return !OF_THE_WRITER.test(sql);
}

/** Whether the other connection may succeed: a table that is not there may be a temporary one of it. */
function needsWriter(error: unknown): boolean {
  const { message, databaseCode } = error as DatabaseError;
  return message.includes("no such table") || (Number(databaseCode) & 0xff) === READ_ONLY;
}
