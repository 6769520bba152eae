import { AshlarError, certificateRemedy } from "../../support/index.ts";
import { ColumnValueError } from "../dialect/column-names.ts";
import { settingsAt } from "../dialect/tls-settings.ts";
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
import "../errors.ts";

/** The fields of an error that the server sends. https://www.postgresql.org/docs/current/protocol-error-fields.html */
interface ServerError extends Error {
  readonly code: string;
  readonly severity: string;
  readonly routine?: string;
  readonly table?: string;
  readonly column?: string;
  readonly constraint?: string;
  detail?: string | undefined;
}

const NOT_NULL_VIOLATION = "23502";
const FOREIGN_KEY_VIOLATION = "23503";
const UNIQUE_VIOLATION = "23505";
const UNDEFINED_TABLE = "42P01";
const UNDEFINED_COLUMN = "42703";
/** The database that the connection names does not exist. */
const INVALID_CATALOG_NAME = "3D000";
/** The class of codes for an unknown user or a wrong password. */
const INVALID_AUTHORIZATION = "28";
/** The names that the message quotes, in any language. */
const QUOTED = /(?<=["„“”«»])\w+(?=["„“”«»])/g;
/** The server's error for every statement after a failed one. */
export const IN_FAILED_TRANSACTION = "25P02";
/** PgBouncer's error for a client that sends a statement timeout at startup. */
const POOLER_REFUSAL = "unsupported startup parameter: statement_timeout";
/** The driver's error if the application requires encryption and the server doesn't support it. */
const NO_TLS = "The server does not support SSL connections";
const DATA_EXCEPTION = "22";
/** The data exceptions that a value can cause: too long, out of range, or not in its type's format. */
const UNFIT_VALUES: ReadonlySet<string> = new Set([
  "22001",
  "22003",
  "22007",
  "22008",
  "22021",
  "22P02",
  "22P03",
  "22P05",
]);

/**
 * Temporary problems. https://www.postgresql.org/docs/current/errcodes-appendix.html
 *
 * Unavailable: 08 (connection), 53 (out of memory and other resources), 57014 (a statement took too long), 57P (the server
 * is stopping or starting), 58030 (its disk fails), 25P03 and 25P04 (a transaction took too long).
 */
const TEMPORARY: readonly (readonly [RegExp, DatabaseErrorCode])[] = [
  [/^53100$/, "E_DATABASE_FULL"],
  [/^53300$/, "E_OVERLOADED"],
  [/^25006$/, "E_DATABASE_READ_ONLY"],
  [/^(?:40001|40P01)$/, "E_DATABASE_CONFLICT"],
  [/^55P03$/, "E_DATABASE_BUSY"],
  [/^XX00[12]$/, "E_DATABASE_DAMAGED"],
  [/^(?:08|53|57014$|57P0|58030$|25P0[34]$)/, "E_DATABASE_UNAVAILABLE"],
];

/**
 * Errors that end the session: the connection failed, the server is stopping, or a transaction took too long. These are
 * recognized by their codes, because servers translate the severity (`FATAL` in most languages), and `pg` doesn't
 * provide the untranslated one.
 */
const END_OF_SESSION = /^(?:08|57P0|25P0[34]$)/;

/**
 * The error for a statement after one that failed in the same transaction. PostgreSQL refuses all later statements.
 *
 * @param failure the error of the earlier statement
 */
export function afterFailure(failure: AshlarError | null, problem: string): DatabaseError {
  const earlier = failure === null ? "" : ` (${failure.code}: ${failure.message})`;
  const remedy =
    "Put a statement that may fail into a nested transaction: await database.transaction(() => user.save())";
  return new DatabaseError(`${problem}${earlier}. ${remedy}`, IN_FAILED_TRANSACTION, failure);
}

/** Returns whether the server refused a statement, after which the connection is still usable. */
export function isStatementError(error: unknown): boolean {
  return isServerError(error) && error.severity !== "FATAL" && !END_OF_SESSION.test(error.code);
}

/**
 * Converts an error of `pg` into one of the framework's, which never contains a row's values.
 *
 * @param where the connection's location in the configuration, if it could not be opened
 */
export function translatePostgresError(error: unknown, where: string | null = null): AshlarError {
  if (error instanceof AshlarError) return error;
  if (!isServerError(error)) return unreachable(error as NodeJS.ErrnoException, where);
  const columns = columnsIn(error.detail);
  // The detail may be "Failing row contains (1, alice, $argon2id$…)", so logging the cause would log the row.
  delete error.detail;
  const violation = violationOf(error, columns);
  if (violation !== null) return violation;
  if (UNFIT_VALUES.has(error.code)) {
    return new ColumnValueError(error.column ?? null, `A value does not fit its column (SQLSTATE ${error.code}).`);
  }
  if (error.code.startsWith(DATA_EXCEPTION)) {
    // The server's message quotes the value, so the original error must not be kept.
    const cause = new Error(`SQLSTATE ${error.code} in ${error.routine ?? "the server"}`);
    return new DatabaseError(
      `PostgreSQL: a value does not fit its column or function (SQLSTATE ${error.code}).`,
      error.code,
      cause,
    );
  }
  if (error.code === UNDEFINED_COLUMN) {
    const reason = `PostgreSQL: ${error.message} (SQLSTATE ${error.code}).`;
    return new UnknownColumnError(reason, error.message.match(QUOTED) ?? [], error.code, error);
  }
  const code = TEMPORARY.find(([codes]) => codes.test(error.code))?.[1] ?? "E_DATABASE";
  const message = `PostgreSQL: ${error.message} (SQLSTATE ${error.code}).${remedyFor(error, where)}`;
  return new DatabaseError(message, error.code, error, code);
}

/** @param columns the columns in the error's detail */
function violationOf(error: ServerError, columns: readonly string[]): ConstraintViolationError | null {
  const details: ConstraintDetails = {
    table: error.table ?? null,
    columns: error.column === undefined ? columns : [error.column],
    constraint: error.constraint ?? null,
    cause: error,
  };
  switch (error.code) {
    case UNIQUE_VIOLATION:
      return new UniqueViolationError(details);
    case FOREIGN_KEY_VIOLATION:
      return new ForeignKeyViolationError(details);
    case NOT_NULL_VIOLATION:
      return new NotNullViolationError(details);
    default:
      return null;
  }
}

/**
 * Advice on how to fix an error.
 *
 * @param where the connection's location in the configuration, if it could not be opened
 * @returns a sentence to append, which may be empty
 */
function remedyFor(error: unknown, where: string | null): string {
  const code = isServerError(error) ? error.code : null;
  if (code === UNDEFINED_TABLE) return MIGRATE;
  if (where === null) return "";
  if (code === null) return tlsRemedy(error as Error, where) || unreachableRemedy(where);
  if ((error as Error).message.startsWith(POOLER_REFUSAL)) return ` Set transactionPooling to true in ${where}.`;
  if (code === INVALID_CATALOG_NAME) return ` Create it, with createdb for example, or correct its name in ${where}.`;
  if (code.startsWith(INVALID_AUTHORIZATION)) return ` Correct the user or the password in ${where}.`;
  // The server is starting, stopping or busy.
  return "";
}

/**
 * Advice for a server that doesn't support encryption, or whose certificate was rejected. A replica's settings are not
 * in `read`.
 */
function tlsRemedy(error: Error, where: string): string {
  if (error.message === NO_TLS)
    return " Turn TLS on in the server, or write sslmode=disable on a network that you trust.";
  return certificateRemedy(error, settingsAt(where));
}

/** Advice for a server that doesn't respond. */
export function unreachableRemedy(where: string): string {
  return ` Start the server, or correct its address in ${where}.`;
}

function isServerError(error: unknown): error is ServerError {
  return "severity" in (error as Error);
}

function unreachable(error: NodeJS.ErrnoException, where: string | null): DatabaseError {
  const reason =
    error instanceof AggregateError && error.message === "" ? (error.errors[0] as Error).message : error.message;
  const message = `PostgreSQL: ${reason}.${remedyFor(error, where)}`;
  return new DatabaseError(message, error.code ?? null, error, "E_DATABASE_UNAVAILABLE");
}

/** The columns in `Key (tenant, email)=(…) already exists.`, in any language; empty for an expression. */
function columnsIn(detail: string | undefined): string[] {
  if (detail === undefined) return [];
  const end = detail.indexOf(")=(");
  if (end === -1) return [];
  const names = detail.slice(detail.indexOf("(") + 1, end).split(", ");
  const plain = names.map((name) => name.replace(/^"(.*)"$/, "$1"));
  return plain.every((name) => /^\w+$/.test(name)) ? plain : [];
}
