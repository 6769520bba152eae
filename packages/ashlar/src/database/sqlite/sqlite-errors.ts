import { AshlarError } from "../../support/index.ts";
import {
  type ConstraintDetails,
  type ConstraintViolationError,
  DatabaseError,
  type DatabaseErrorCode,
  ForeignKeyViolationError,
  MIGRATE,
  NotNullViolationError,
  UniqueViolationError,
  UnknownColumnError,
} from "../errors.ts";

// Result codes, https://www.sqlite.org/rescode.html
const CONSTRAINT_FOREIGN_KEY = 787;
const CONSTRAINT_NOT_NULL = 1299;
const CONSTRAINT_PRIMARY_KEY = 1555;
const CONSTRAINT_TRIGGER = 1811;
const CONSTRAINT_UNIQUE = 2067;
const CONSTRAINT_ROWID = 2579;

/** A transaction that began with a read and can no longer write, because another process has written since. */
const BUSY_SNAPSHOT = 517;
/** The result code if the connection, rather than the file, is read-only. */
const READONLY = 8;

/** Temporary problems, by primary result code: the low 8 bits. */
const TEMPORARY: Readonly<Record<number, DatabaseErrorCode>> = {
  5: "E_DATABASE_BUSY", // SQLITE_BUSY
  6: "E_DATABASE_BUSY", // SQLITE_LOCKED
  7: "E_DATABASE_UNAVAILABLE", // SQLITE_NOMEM
  8: "E_DATABASE_READ_ONLY", // SQLITE_READONLY
  10: "E_DATABASE_UNAVAILABLE", // SQLITE_IOERR
  11: "E_DATABASE_DAMAGED", // SQLITE_CORRUPT
  13: "E_DATABASE_FULL", // SQLITE_FULL: the disk, or `max_page_count`
  14: "E_DATABASE_UNAVAILABLE", // SQLITE_CANTOPEN
  26: "E_DATABASE_DAMAGED", // SQLITE_NOTADB
};

/** The codes for problems with the file, whose messages name it. */
const OF_FILE: ReadonlySet<DatabaseErrorCode> = new Set([
  "E_DATABASE_DAMAGED",
  "E_DATABASE_FULL",
  "E_DATABASE_READ_ONLY",
  "E_DATABASE_UNAVAILABLE",
]);

/** The two messages about a missing column, which has no result code. */
const NO_COLUMN = /^(?:table .* has no column named|no such column:) "?(\w+)/;

/** The framework's error code for SQLite's result code. */
export function sqliteErrorCode(errcode: number): DatabaseErrorCode {
  return errcode === BUSY_SNAPSHOT ? "E_DATABASE_CONFLICT" : (TEMPORARY[errcode & 0xff] ?? "E_DATABASE");
}

/**
 * Converts an error of `node:sqlite` into one of the framework's. SQLite's messages contain only names, never a row's
 * values.
 *
 * @param refusesWrites whether the connection was set to refuse writes, whose code is then `E_DATABASE`
 * @param path the file
 */
export function translateSqliteError(error: unknown, refusesWrites = false, path: string | null = null): AshlarError {
  if (error instanceof AshlarError) return error;
  const { errcode, message } = error as Error & { errcode?: number };
  if (errcode === undefined) return new DatabaseError(`SQLite: ${message}.`, null, error);
  const violation = violationOf(errcode, message, error);
  if (violation !== null) return violation;
  if (refusesWrites && errcode === READONLY) return new DatabaseError(`SQLite: ${message}.`, String(errcode), error);
  const column = NO_COLUMN.exec(message)?.[1];
  if (column !== undefined) return new UnknownColumnError(`SQLite: ${message}.`, [column], String(errcode), error);
  const remedy = message.startsWith("no such table") ? MIGRATE : "";
  const code = sqliteErrorCode(errcode);
  const file = path !== null && OF_FILE.has(code) ? ` (${path})` : "";
  return new DatabaseError(`SQLite: ${message}${file}.${remedy}`, String(errcode), error, code);
}

function violationOf(errcode: number, message: string, cause: unknown): ConstraintViolationError | null {
  switch (errcode) {
    case CONSTRAINT_UNIQUE:
    case CONSTRAINT_PRIMARY_KEY:
    case CONSTRAINT_ROWID:
      return new UniqueViolationError({ ...namesIn(message), cause });
    case CONSTRAINT_NOT_NULL:
      return new NotNullViolationError({ ...namesIn(message), cause });
    case CONSTRAINT_FOREIGN_KEY:
    case CONSTRAINT_TRIGGER:
      return message.startsWith("FOREIGN KEY") ? new ForeignKeyViolationError({ columns: [], cause }) : null;
    default:
      return null;
  }
}

/**
 * Parses `UNIQUE constraint failed: users.tenant, users.email`, or `…: index 'users_email_lower'` for an expression.
 */
function namesIn(message: string): ConstraintDetails {
  const names = message.slice(message.indexOf(": ") + 2);
  const index = /^index '(.*)'$/.exec(names)?.[1];
  if (index !== undefined) return { columns: [], constraint: index };
  const pairs = names
    .split(", ")
    .map((name) => [name.slice(0, name.indexOf(".")), name.slice(name.indexOf(".") + 1)] as const);
  return { table: pairs[0]![0], columns: pairs.map(([, column]) => column) };
}
