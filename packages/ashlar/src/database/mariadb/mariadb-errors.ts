import { AshlarError, certificateRemedy } from "../../support/index.ts";
import { ColumnValueError } from "../dialect/column-names.ts";
import { settingsAt } from "../dialect/tls-settings.ts";
import {
  DatabaseError,
  type DatabaseErrorCode,
  ForeignKeyViolationError,
  MIGRATE,
  NotNullViolationError,
  UniqueViolationError,
  UnknownColumnError,
} from "../errors.ts";
import "../errors.ts";

/**
 * An error that the server reports, or that the driver reports about the connection.
 * https://mariadb.com/kb/en/mariadb-error-code-reference/
 */
interface DriverError extends Error {
  readonly code?: string;
  readonly errno?: number;
  readonly sqlState?: string;
  readonly sqlMessage?: string;
  readonly fatal?: boolean;
}

const DUPLICATE = 1062;
const UNKNOWN_COLUMN = 1054;
/** The driver's error if the application requires encryption and the server doesn't support it. */
const NO_TLS = "HANDSHAKE_NO_SSL_SUPPORT";
const NO_SUCH_TABLE = 1146;
const UNKNOWN_DATABASE = 1049;
/** The password is wrong, or the user isn't allowed to use the database. */
const REFUSED: ReadonlySet<number> = new Set([1044, 1045, 1698]);
const NOT_NULL: ReadonlySet<number> = new Set([1048, 1364]);
const FOREIGN_KEY: ReadonlySet<number> = new Set([1216, 1217, 1451, 1452]);
/** Too long, out of range, or not in its column's format. */
const UNFIT_VALUES: ReadonlySet<number> = new Set([1264, 1265, 1292, 1366, 1406, 3140]);
/**
 * The transaction was the victim of a deadlock. A cluster node also reports this on commit if another node has
 * committed first.
 */
const DEADLOCK = 1213;
/**
 * Errors with which the server rolls back the whole transaction. 1020 is for a row that has changed since the
 * transaction began.
 */
const ENDS_OF_TRANSACTIONS: ReadonlySet<number> = new Set([DEADLOCK, 1020, 1206]);
/** A server option forbids the statement, such as `--read-only`. */
const FORBIDDEN_BY_OPTION = 1290;
/**
 * Errors that quote a system error in their message: the storage engine's (1030), or one from writing a file such as
 * the binary log (3, 1026).
 */
const SYSTEM_ERRORS: ReadonlySet<number> = new Set([3, 1026, 1030]);
/**
 * The system error "no space left on device": `error 28 "No space …"`, `(errno: 28 "No space …")`, `(Errcode: 28 "No
 * space …")`.
 */
const NO_SPACE = /\b(?:error|errno:|errcode:) 28\b/i;
/** The codes for statements that can't run at the moment, by their cause. */
const TEMPORARY: ReadonlyMap<number, DatabaseErrorCode> = new Map([
  ...codes("E_DATABASE_CONFLICT", [DEADLOCK, 1020]),
  ...codes("E_DATABASE_BUSY", [1205, 3572]),
  ...codes("E_DATABASE_READ_ONLY", [1836]),
  // The server reports 20 while it waits for disk space.
  ...codes("E_DATABASE_FULL", [20, 1021, 1114]),
  ...codes("E_DATABASE_DAMAGED", [1034, 1035, 1194, 1195, 1712, 1877]),
  ...codes("E_OVERLOADED", [1040, 1203, 1226]),
  // The server has no memory, threads or locks left, is stopping, can't write its binary log, or has blocked this host
  // after failed attempts (1129); or the statement took too long.
  ...codes("E_DATABASE_UNAVAILABLE", [1037, 1038, 1041, 1129, 1135, 1206, 1317, 1598, 1969, 3024]),
]);
/**
 * Errors that end the session: the server is stopping or has ended it, the node has left its cluster (1047), or the
 * server has been read-only since a failover (1836), in which case a new connection may reach another server.
 */
const END_OF_SESSION: ReadonlySet<number> = new Set([1047, 1053, 1077, 1079, 1080, 1836, 1927, 1950, 4031]);
/** Errors whose messages contain names but no values: those about columns, tables, keys, and a statement's text. */
const QUOTABLE: ReadonlySet<number> = new Set([
  ...[
    1005, 1007, 1008, 1044, 1045, 1049, 1050, 1051, 1060, 1061, 1064, 1068, 1071, 1072, 1091, 1101, 1102, 1129, 1142,
    1143,
  ],
  ...[1146, 1170, 1193, 1305, 1701, 1792, 1830, 1832, 1834, 3730, 3780, 3819, 4025, 4161],
]);
/** From this number on, each server has its own errors. */
const FIRST_OWN_ERROR = 1900;

/** Where an error comes from, if known. */
export interface ErrorPlace {
  /** The connection's location in the configuration, if it could not be opened. */
  readonly where?: string | null;
  /** The table that the statement writes to. */
  readonly table?: string | null;
}

/**
 * Converts an error of `mysql2` into one of the framework's, which never contains a row's values. The driver's error
 * isn't kept, because most messages quote a value.
 *
 * @param server the server's name
 */
export function translateMariadbError(
  error: unknown,
  server: string,
  { where = null, table = null }: ErrorPlace = {},
): AshlarError {
  if (error instanceof AshlarError) return error;
  const { errno, code, sqlState, sqlMessage } = error as DriverError;
  if (errno === undefined || sqlMessage === undefined) return unreachable(error as DriverError, server, where);
  const violation = violationOf(error, errno, sqlMessage, table);
  if (violation !== null) return violation;
  const number = String(errno);
  if (errno === UNKNOWN_COLUMN) {
    return new UnknownColumnError(`${server}: ${sqlMessage} (${errno}).`, namesIn(sqlMessage), number);
  }
  // The driver knows only MySQL's names for errors, and the servers have only the lower numbers in common.
  const name = errno < FIRST_OWN_ERROR || server === "MySQL" ? code : undefined;
  const what = QUOTABLE.has(errno) ? sqlMessage : (name ?? "an error");
  const message = `${server}: ${what} (${errno}).${remedyFor(errno, where)}`;
  // Logging the driver's error would log the values in its message.
  const cause = new Error(`${server} reported ${name ?? "an error"} (${errno}, SQLSTATE ${sqlState}).`);
  return new DatabaseError(message, number, cause, codeOf(errno, sqlMessage) ?? lostOr(error));
}

/** The error for a value that a column or a constraint doesn't accept; `null` for any other error. */
function violationOf(error: unknown, errno: number, message: string, table: string | null): AshlarError | null {
  if (errno === DUPLICATE) {
    return new UniqueViolationError({ table, columns: [], constraint: violatedIndex(error) });
  }
  if (NOT_NULL.has(errno)) return new NotNullViolationError({ table, columns: quotedIn(message).slice(0, 1) });
  if (FOREIGN_KEY.has(errno)) return new ForeignKeyViolationError(foreignKeyIn(message));
  return UNFIT_VALUES.has(errno) ? new ColumnValueError(columnIn(message), unfit(errno)) : null;
}

function codes(code: DatabaseErrorCode, errors: readonly number[]): (readonly [number, DatabaseErrorCode])[] {
  return errors.map((errno) => [errno, code] as const);
}

function codeOf(errno: number, message: string): DatabaseErrorCode | undefined {
  if (errno === FORBIDDEN_BY_OPTION) return isReadOnly(message) ? "E_DATABASE_READ_ONLY" : undefined;
  if (SYSTEM_ERRORS.has(errno)) return NO_SPACE.test(message) ? "E_DATABASE_FULL" : undefined;
  return TEMPORARY.get(errno);
}

function lostOr(error: unknown): DatabaseErrorCode {
  return isEndOfSession(error) ? "E_DATABASE_UNAVAILABLE" : "E_DATABASE";
}

function isReadOnly(message: string): boolean {
  return /read[-_]only/.test(message);
}

/** The error for a value that the server converted to a number for a comparison, using only its beginning. */
export function convertedValue(): ColumnValueError {
  return new ColumnValueError(null, "A value does not fit the column that it is compared with.");
}

/**
 * Like {@link convertedValue}, but for a comparison or conversion in the statement itself, when no value can be the
 * cause.
 */
export function convertedText(server: string, errno: number): DatabaseError {
  const problem = `${server}: the statement reads text as a number or a time, and some of it isn't one (${errno}).`;
  return new DatabaseError(`${problem} Compare text with text: cast(number as char).`, String(errno));
}

/**
 * The index that a duplicate value violates; `null` for any other error. MySQL puts the table before the index's name.
 */
export function violatedIndex(error: unknown): string | null {
  const { errno, sqlMessage = "" } = Object(error) as DriverError;
  return errno === DUPLICATE ? (/'(?:[^'.]+\.)?([^'.]+)'$/.exec(sqlMessage)?.[1] ?? null) : null;
}

/** Returns whether the server has rolled back the whole transaction. */
export function endsTransaction(error: unknown): boolean {
  return ENDS_OF_TRANSACTIONS.has((Object(error) as DriverError).errno!);
}

/** Returns whether the error makes the connection unusable. */
export function isEndOfSession(error: unknown): boolean {
  const { errno, fatal, sqlMessage } = Object(error) as DriverError;
  if (fatal === true || sqlMessage === undefined || END_OF_SESSION.has(errno!)) return true;
  return errno === FORBIDDEN_BY_OPTION && isReadOnly(sqlMessage);
}

/** Advice for a server that doesn't respond. */
export function unreachableRemedy(where: string | null): string {
  return where === null ? "" : ` Start the server, or correct its address in ${where}.`;
}

/** Advice for a server that doesn't support encryption, or whose certificate was rejected. */
function tlsRemedy(error: DriverError, where: string | null): string {
  if (where === null) return "";
  if (error.code === NO_TLS) return " Turn TLS on in the server, or set ssl to false on a network that you trust.";
  return certificateRemedy(error, settingsAt(where));
}

function remedyFor(errno: number, where: string | null): string {
  if (errno === NO_SUCH_TABLE) return MIGRATE;
  if (where === null) return "";
  if (errno === UNKNOWN_DATABASE) return ` Create it, with create database, or correct its name in ${where}.`;
  return REFUSED.has(errno) ? ` Correct the user or the password in ${where}.` : "";
}

function unfit(errno: number): string {
  return `A value does not fit its column (error ${errno}).`;
}

function unreachable(error: DriverError, server: string, where: string | null): DatabaseError {
  const reason =
    error instanceof AggregateError && error.message === "" ? (error.errors[0] as Error).message : error.message;
  const message = `${server}: ${reason.replace(/\.$/, "")}.${tlsRemedy(error, where) || unreachableRemedy(where)}`;
  // The driver attaches the text of the statement.
  const cause = Object.assign(new Error(reason), { code: error.code ?? null });
  return new DatabaseError(message, error.code ?? null, cause, "E_DATABASE_UNAVAILABLE");
}

function quotedIn(message: string): string[] {
  return [...message.matchAll(/'([^']*)'/g)].map(([, name]) => name!);
}

/** The names in an error's message. `Unknown column 't.colour' in 'SET'` names the table too. */
function namesIn(message: string): string[] {
  return quotedIn(message)
    .slice(0, 1)
    .flatMap((name) => name.split("."));
}

/**
 * The column in `Data too long for column 'name' at row 1`; MariaDB also writes the column as "shop"."users"."name".
 */
function columnIn(message: string): string | null {
  return /for column (?:["`][^"`]*["`]\.){0,2}['"`](\w+)['"`] at row \d+$/.exec(message)?.[1] ?? null;
}

/** The parts of ("shop"."notes", CONSTRAINT "notes_ibfk_1" FOREIGN KEY ("row_id") REFERENCES "rows" ("id")). */
function foreignKeyIn(message: string): { table: string | null; columns: string[]; constraint: string | null } {
  const [, table = null, constraint = null, columns = ""] =
    /\(["`][^"`]*["`]\.["`]([^"`]*)["`], CONSTRAINT ["`]([^"`]*)["`] FOREIGN KEY \(([^)]*)\)/.exec(message) ?? [];
  return { table, constraint, columns: [...columns.matchAll(/["`]([^"`]*)["`]/g)].map(([, name]) => name!) };
}
