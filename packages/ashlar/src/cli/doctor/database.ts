import { columnsOf, Database, DatabaseError, obstacle } from "../../database/index.ts";
import { limited, TooSlowError } from "../../support/index.ts";
import type { Subject } from "./subject.ts";

/** How long a database may take to respond, in seconds. */
const SECONDS = 5;
/** SQLite's result codes for a file that is damaged, or not a database: https://www.sqlite.org/rescode.html */
const DAMAGED: readonly number[] = [10, 11, 26];

/** Thrown if a database can't be reached or read. Its cause is the reason. */
export class UnreachableDatabase extends Error {
  /** The path of the database's file; `null` if it doesn't have one. */
  readonly file: string | null;
  /** The advice in the cause's message; `null` if there isn't any. */
  readonly obstacle: string | null;

  constructor(file: string | null, { cause = null, reason = null }: { cause?: unknown; reason?: string | null }) {
    super("The database can't be reached.", { cause });
    this.file = file;
    this.obstacle = reason;
  }
}

/** Earlier results, to wait only once for an unresponsive database. */
const known = new WeakMap<Subject, UnreachableDatabase>();

/**
 * Runs a function with an application's database, without changing anything.
 *
 * @returns `null` if the application has no database, or if it can't be reached in time
 */
export async function withDatabase<T>(subject: Subject, work: (database: Database) => Promise<T>): Promise<T | null> {
  try {
    return await withDatabaseOrThrow(subject, work);
  } catch {
    return null;
  }
}

/**
 * Runs a function with an application's database, without changing anything.
 *
 * @returns `null` if the application has no database
 * @throws an {@link UnreachableDatabase}, or the function's errors
 */
export async function withDatabaseOrThrow<T>(
  subject: Subject,
  work: (database: Database) => Promise<T>,
): Promise<T | null> {
  const found = known.get(subject);
  if (found !== undefined) throw found;
  try {
    return await withOpened(subject, work);
  } catch (thrown) {
    if (thrown instanceof UnreachableDatabase) known.set(subject, thrown);
    throw thrown;
  }
}

async function withOpened<T>(subject: Subject, work: (database: Database) => Promise<T>): Promise<T | null> {
  const database = databaseOf(subject);
  if (database === null) return null;
  const file = database.dialect.file ?? null;
  const reason = file === null ? null : obstacle(file);
  if (reason !== null) throw new UnreachableDatabase(file, { reason });
  let isReached = false;
  try {
    return await limited(SECONDS, "The database", async () => {
      await database.connect();
      // SQLite doesn't read its file before the first statement.
      await columnsOf(database.connection(), "migrations");
      isReached = true;
      return await work(database);
    });
  } catch (thrown) {
    if (isReached && !(thrown instanceof TooSlowError) && (file === null || !isDamaged(thrown))) throw thrown;
    throw new UnreachableDatabase(file, { cause: thrown });
  } finally {
    // Closing the connection to an unresponsive server wouldn't end either.
    await limited(1, "The database", () => database.close()).catch(() => {});
  }
}

function databaseOf({ configuration, sections, root }: Subject, isInspected = true): Database | null {
  const databases = configuration?.has("database")
    ? configuration.section("database").DATABASES
    : sections.get("database")?.DATABASES;
  if (databases === undefined) return null;
  try {
    return new Database(databases, root, { isInspected });
  } catch (thrown) {
    throw new UnreachableDatabase(null, { cause: thrown });
  }
}

/**
 * The file of an application's database, which may not exist.
 *
 * @returns `null` if there isn't one, or if it's unknown
 */
export function databaseFileOf(subject: Subject): string | null {
  try {
    // The file isn't opened. For an inspection, a missing file would mean a database in memory.
    return databaseOf(subject, false)?.dialect.file ?? null;
  } catch {
    return null;
  }
}

/** Reports whether an error means that a SQLite file is damaged. */
export function isDamaged(thrown: unknown): boolean {
  return thrown instanceof DatabaseError && DAMAGED.includes(Number(thrown.databaseCode) & 0xff);
}
