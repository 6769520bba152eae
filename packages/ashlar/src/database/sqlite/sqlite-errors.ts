import { AshlarError } from "../../support/index.ts";
import {
  type ConstraintDetails,
  DatabaseError,
  ForeignKeyViolationError,
  MIGRATE,
  NotNullViolationError,
  UniqueViolationError,
  UnknownColumnError,
} from "../errors.ts";

// Result codes, https://www.sqlite.org/rescode.html
/** The disk is full, or `max_page_count` reached. As with PostgreSQL's 53100, the request can be repeated later. */
const FULL = 13;
const CONSTRAINT_FOREIGN_KEY = 787;
const CONSTRAINT_NOT_NULL = 1299;
const CONSTRAINT_PRIMARY_KEY = 1555;
const CONSTRAINT_TRIGGER = 1811;
const CONSTRAINT_UNIQUE = 2067;
const CONSTRAINT_ROWID = 2579;

/** The two messages about a column that does not exist; they have no code of their own. */
const NO_COLUMN = /^(?:table .* has no column named|no such column:) (\w+)/;

/**
 * Converts an error of `node:sqlite` into one of the framework. SQLite's messages contain only names, never a row's
 * values.
 */
export function translateSqliteError(error: unknown): AshlarError {
  if (error instanceof AshlarError) return error;
  const { errcode, message } = error as Error & { errcode?: number };
  if (errcode === undefined) return new DatabaseError(`SQLite: ${message}.`, null, error);
  switch (errcode) {
    case CONSTRAINT_UNIQUE:
    case CONSTRAINT_PRIMARY_KEY:
    case CONSTRAINT_ROWID:
      return new UniqueViolationError({ ...namesIn(message), cause: error });
    case CONSTRAINT_NOT_NULL:
      return new NotNullViolationError({ ...namesIn(message), cause: error });
    case CONSTRAINT_FOREIGN_KEY:
    case CONSTRAINT_TRIGGER:
      if (!message.startsWith("FOREIGN KEY")) break;
      return new ForeignKeyViolationError({ columns: [], cause: error });
    case FULL:
      return new DatabaseError(`SQLite: ${message}.`, String(errcode), error, "E_DATABASE_UNAVAILABLE");
  }
  const column = NO_COLUMN.exec(message)?.[1];
  if (column !== undefined) return new UnknownColumnError(`SQLite: ${message}.`, [column], String(errcode), error);
  const remedy = message.startsWith("no such table") ? MIGRATE : "";
  return new DatabaseError(`SQLite: ${message}.${remedy}`, String(errcode), error);
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
