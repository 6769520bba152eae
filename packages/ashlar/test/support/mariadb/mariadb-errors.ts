import { SqlError } from "mariadb";
import {
  DatabaseError,
  ForeignKeyViolationError,
  NotNullViolationError,
  UniqueViolationError,
  UnknownColumnError,
} from "../../../src/public/database.ts";
import { AshlarError } from "../../../src/public/index.ts";

const DUPLICATE = 1062;
const DEADLOCK = 1213;
const LOCK_TIMEOUT = 1205;
const POOL_TIMEOUT = 45_028;
const UNKNOWN_COLUMN = 1054;
const NOT_NULL: ReadonlySet<number> = new Set([1048, 1364]);
const FOREIGN_KEY: ReadonlySet<number> = new Set([1216, 1217, 1451, 1452]);
/** Too long, out of range, or not in its type's format. */
const UNFIT_VALUES: ReadonlySet<number> = new Set([1264, 1292, 1366, 1406]);
/** Those whose messages contain no value: an unknown column or table, a table that exists, a syntax error. */
const QUOTABLE: ReadonlySet<number> = new Set([1050, 1051, UNKNOWN_COLUMN, 1060, 1061, 1064, 1091, 1146]);

/** Converts an error of the driver into one of the framework, without any value of a row. */
export function translated(error: unknown): AshlarError {
  if (error instanceof AshlarError) return error;
  if (!(error instanceof SqlError)) return new DatabaseError("The driver failed.", null, error);
  const { errno, sqlMessage, code } = error;
  const message = sqlMessage ?? "";
  const details = { table: null, columns: quotedIn(message).slice(0, 1), constraint: null, cause: null };
  if (errno === DUPLICATE)
    return new UniqueViolationError({ ...details, columns: [], constraint: violatedIndex(error) });
  if (NOT_NULL.has(errno)) return new NotNullViolationError(details);
  if (FOREIGN_KEY.has(errno)) return new ForeignKeyViolationError({ ...details, columns: [] });
  if (errno === UNKNOWN_COLUMN) return new UnknownColumnError(message, namesIn(message), String(errno));
  if (UNFIT_VALUES.has(errno)) return unfitValue();
  if (errno === POOL_TIMEOUT) return new AshlarError("E_OVERLOADED", "No connection to the database was free in time.");
  const isTemporary = errno === DEADLOCK || errno === LOCK_TIMEOUT || isConnectionError(error);
  const reason = QUOTABLE.has(errno) ? `MariaDB: ${message}.` : `MariaDB: ${code}.`;
  return new DatabaseError(reason, String(errno), null, isTemporary ? "E_DATABASE_UNAVAILABLE" : "E_DATABASE");
}

/** The error for a value of another type than its column's. */
export function unfitValue(): AshlarError {
  return new AshlarError("E_INVALID_INPUT", "A value does not suit its column.");
}

/** The index that a duplicate value is in; `null` for any other error. */
export function violatedIndex(error: unknown): string | null {
  if (!(error instanceof SqlError) || error.errno !== DUPLICATE) return null;
  return /for key '(?:[^'.]+\.)?([^']+)'$/.exec(error.sqlMessage ?? "")?.[1] ?? null;
}

/** Whether the statement was the victim of a deadlock. */
export function isDeadlock(error: unknown): boolean {
  return error instanceof DatabaseError && error.databaseCode === String(DEADLOCK);
}

/** Whether the server has rolled back the whole transaction. */
export function endsTransaction(error: unknown): boolean {
  return error instanceof SqlError && error.errno === DEADLOCK;
}

/** Whether the connection is gone. */
export function isConnectionError(error: unknown): boolean {
  return error instanceof SqlError && error.fatal;
}

function quotedIn(message: string): string[] {
  return [...message.matchAll(/'([^']*)'/g)].map(([, name]) => name!);
}

/** `Unknown column 't.colour' in 'SET'` names the table too. */
function namesIn(message: string): string[] {
  return quotedIn(message)
    .slice(0, 1)
    .flatMap((name) => name.split("."));
}
