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
/** The driver's error if the server doesn't encrypt, and the application wants it to. */
const NO_TLS = "HANDSHAKE_NO_SSL_SUPPORT";
const NO_SUCH_TABLE = 1146;
const UNKNOWN_DATABASE = 1049;
/** The password is wrong, or the user isn't allowed to use the database. */
const REFUSED: ReadonlySet<number> = new Set([1044, 1045, 1698]);
const NOT_NULL: ReadonlySet<number> = new Set([1048, 1364]);
const FOREIGN_KEY: ReadonlySet<number> = new Set([1216, 1217, 1451, 1452]);
/** Too long, out of range, or not in its column's format. */
const UNFIT_VALUES: ReadonlySet<number> = new Set([1264, 1265, 1292, 1366, 1406, 3140]);
/** The victim of a deadlock. A cluster's node also reports this at a commit, if another node has committed first. */
const DEADLOCK = 1213;
/**
 * Errors after which the server has rolled back the whole transaction, including the one for a row that has changed
 * since it began.
 */
const ENDS_OF_TRANSACTIONS: ReadonlySet<number> = new Set([DEADLOCK, 1020, 1206]);
/** A server option forbids the statement, such as `--read-only`. */
const FORBIDDEN_BY_OPTION = 1290;
/**
 * Errors that have the system's in their message: of the storage engine (1030), and of a write to a file (3, 1026), such as
 * the binary log.
 */
const SYSTEM_ERRORS: ReadonlySet<number> = new Set([3, 1026, 1030]);
/** The system's "no space left on device": `error 28 "No space …"`, `(errno: 28 "No space …")`, `(Errcode: 28 "No space …")`. */
const NO_SPACE = /\b(?:error|errno:|errcode:) 28\b/i;
/** The codes for statements that can't run at the moment, by their cause. */
const TEMPORARY: ReadonlyMap<number, DatabaseErrorCode> = new Map([
  ...codes("E_DATABASE_CONFLICT", [DEADLOCK, 1020]),
  ...codes("E_DATABASE_BUSY", [1205, 3572]),
  ...codes("E_DATABASE_READ_ONLY", [1836]),
  // The server reports 20 while it waits for space.
  ...codes("E_DATABASE_FULL", [20, 1021, 1114]),
  ...codes("E_DATABASE_DAMAGED", [1034, 1035, 1194, 1195, 1712, 1877]),
  ...codes("E_OVERLOADED", [1040, 1203, 1226]),
  // No memory, threads or locks left; a host that is blocked after failed attempts (1129); a statement that took too long; a
  // server that is stopping, or can't write its binary log.
  ...codes("E_DATABASE_UNAVAILABLE", [1037, 1038, 1041, 1129, 1135, 1206, 1317, 1598, 1969, 3024]),
]);
/**
 * Ends of the session: the server is stopping, or has ended it; a node of a cluster isn't part of it (1047); a server that
 * only reads since a failover (1836), in whose place a new connection may find another one.
 */
const END_OF_SESSION: ReadonlySet<number> = new Set([1047, 1053, 1077, 1079, 1080, 1836, 1927, 1950, 4031]);
/** Errors whose messages contain names but no values: about columns, tables and keys, and about a statement's text. */
const QUOTABLE: ReadonlySet<number> = new Set([
  ...[
    1005, 1007, 1008, 1044, 1045, 1049, 1050, 1051, 1060, 1061, 1064, 1068, 1071, 1072, 1091, 1101, 1102, 1129, 1142,
    1143,
  ],
  ...[1146, 1170, 1193, 1305, 1701, 1792, 1830, 1832, 1834, 3730, 3780, 3819, 4025, 4161],
]);
/** From here on, each server has its own errors. */
const FIRST_OWN_ERROR = 1900;

/** The source of an error, as far as it is known. */
export interface ErrorPlace {
  /** The connection's location in the configuration, if it could not be opened. */
  readonly where?: string | null;
  /** The table that the statement writes. */
  readonly table?: string | null;
}

/**
 * Converts an error of `mysql2` into one of the framework, without any value of a row. The driver's own error isn't kept:
 * most messages quote a value.
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
  if (errno === DUPLICATE) {
    return new UniqueViolationError({ table, columns: [], constraint: violatedIndex(error) });
  }
  if (NOT_NULL.has(errno)) return new NotNullViolationError({ table, columns: quotedIn(sqlMessage).slice(0, 1) });
  if (FOREIGN_KEY.has(errno)) return new ForeignKeyViolationError(foreignKeyIn(sqlMessage));
  if (UNFIT_VALUES.has(errno)) return new ColumnValueError(columnIn(sqlMessage), unfit(errno));
  const number = String(errno);
  if (errno === UNKNOWN_COLUMN) {
    return new UnknownColumnError(`${server}: ${sqlMessage} (${errno}).`, namesIn(sqlMessage), number);
  }
  // The driver has MySQL's names. The servers share only the names of the first errors.
  const name = errno < FIRST_OWN_ERROR || server === "MySQL" ? code : undefined;
  const what = QUOTABLE.has(errno) ? sqlMessage : (name ?? "an error");
  const message = `${server}: ${what} (${errno}).${remedyFor(errno, where)}`;
  // Logging the driver's error would log the values in its message.
  const cause = new Error(`${server} reported ${name ?? "an error"} (${errno}, SQLSTATE ${sqlState}).`);
  return new DatabaseError(message, number, cause, codeOf(errno, sqlMessage) ?? lostOr(error));
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

/** The error for text that was compared with a number, and of which the server has read only the beginning. */
export function convertedValue(): ColumnValueError {
  return new ColumnValueError(null, "A value does not fit the column that it is compared with.");
}

/**
 * The same error if the cause can't be a value from outside, but only a comparison or conversion in the statement
 * itself.
 */
export function convertedText(server: string, errno: number): DatabaseError {
  const problem = `${server}: the statement reads text as a number or a time, and some of it isn't one (${errno}).`;
  return new DatabaseError(`${problem} Compare text with text: cast(number as char).`, String(errno));
}

/** The index that a duplicate value is in; `null` for any other error. MySQL puts the table before its name. */
export function violatedIndex(error: unknown): string | null {
  const { errno, sqlMessage = "" } = Object(error) as DriverError;
  return errno === DUPLICATE ? (/'(?:[^'.]+\.)?([^'.]+)'$/.exec(sqlMessage)?.[1] ?? null) : null;
}

/** Returns whether the server has rolled back the whole transaction. */
export function endsTransaction(error: unknown): boolean {
  return ENDS_OF_TRANSACTIONS.has((Object(error) as DriverError).errno!);
}

/** Returns whether the connection can't be used any longer. */
export function isEndOfSession(error: unknown): boolean {
  const { errno, fatal, sqlMessage } = Object(error) as DriverError;
  if (fatal === true || sqlMessage === undefined || END_OF_SESSION.has(errno!)) return true;
  return errno === FORBIDDEN_BY_OPTION && isReadOnly(sqlMessage);
}

/** What to do about a server that does not respond. */
export function unreachableRemedy(where: string | null): string {
  return where === null ? "" : ` Start the server, or correct its address in ${where}.`;
}

/** What to do about a server that doesn't encrypt, or whose certificate is refused. */
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

/** `Unknown column 't.colour' in 'SET'` names the table too. */
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
