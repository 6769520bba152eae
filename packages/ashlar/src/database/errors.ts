import { AshlarError, declareErrors, type Message, type StatusesOf } from "../support/index.ts";
import { message } from "./messages.ts";

/** The error codes of this folder, each with its status and a sentence. */
export const DATABASE_ERRORS = {
  E_ROW_NOT_FOUND: [404, "The record was not found."],
  E_DATABASE: [500, "The database reported an error."],
  E_DATABASE_UNAVAILABLE: [503, "The database cannot be reached, or took too long; try again in a moment."],
  E_DATABASE_BUSY: [503, "The database is busy with something else; try again in a moment."],
  E_DATABASE_CONFLICT: [503, "Something else was changing the same data; try again."],
  E_DATABASE_READ_ONLY: [503, "The database accepts no changes at the moment; try again later."],
  E_DATABASE_FULL: [503, "The database has no space left; try again later."],
  E_DATABASE_DAMAGED: [503, "The database cannot read its data; try again later."],
  E_UNIQUE_VIOLATION: [409, "A record with this value already exists."],
  E_FOREIGN_KEY_VIOLATION: [409, "A record refers to one that does not exist, or is still referred to."],
  E_NOT_NULL_VIOLATION: [500, "A required column has no value."],
  E_INVALID_QUERY: [500, "The query contains a column or a value that is not allowed."],
  E_MIGRATION: [500, "A migration could not be run."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof DATABASE_ERRORS> {}
}

declareErrors(DATABASE_ERRORS);

/** The details of a violated constraint, as far as the database reports them. Only `columns` is required. */
export interface ConstraintDetails {
  /** The table, if the database reports it. */
  readonly table?: string | null;
  /** The columns, in the constraint's order; empty if the constraint is on an expression or they are not reported. */
  readonly columns: readonly string[];
  /** The name of the constraint or index, if the database reports it. */
  readonly constraint?: string | null;
  /** The driver's error, without the values of the row. */
  readonly cause?: unknown;
}

/** @throws `E_INTERNAL` if an error is not constructed with the columns */
function columnsOf({ name }: { readonly name: string }, details: Partial<ConstraintDetails> | null): readonly string[] {
  const { columns, cause } = Object(details) as Partial<ConstraintDetails>;
  if (Array.isArray(columns) && columns.every((column) => typeof column === "string")) return columns;
  const remedy = `Write new ${name}({ columns: ["email"] }).`;
  throw new AshlarError("E_INTERNAL", `${name} was constructed without a list of columns. ${remedy}`, { cause });
}

/** A row violates a constraint of its table. The same on every database; no message includes a value of the row. */
export abstract class ConstraintViolationError extends AshlarError {
  /** The table, if the database reports it. */
  readonly table: string | null;
  /** The columns, in the constraint's order. */
  readonly columns: readonly string[];
  /** The name of the constraint or index, if the database reports it. */
  readonly constraint: string | null;

  constructor(
    code: "E_UNIQUE_VIOLATION" | "E_FOREIGN_KEY_VIOLATION" | "E_NOT_NULL_VIOLATION",
    sentence: string | Message | undefined,
    details: ConstraintDetails,
  ) {
    const columns = columnsOf(new.target, details);
    super(code, sentence, { cause: details.cause });
    this.table = details.table ?? null;
    this.columns = columns;
    this.constraint = details.constraint ?? null;
  }

  /** The first of the columns, which is usually the only one. */
  get column(): string | null {
    return this.columns[0] ?? null;
  }
}

/**
 * A record with the same value in a unique column or primary key already exists (`E_UNIQUE_VIOLATION`, 409).
 *
 * ```ts
 * try {
 *   await user.save();
 * } catch (error) {
 *   if (!(error instanceof UniqueViolationError && error.column === "email")) throw error;
 *   throw new ValidationError({ email: ["This email address is already in use."] });
 * }
 * ```
 *
 * Inside a transaction that should continue, put the statement into a nested one, `database.transaction(() =>
 * user.save())`, and catch the error around that: PostgreSQL refuses everything after a failed statement in the same
 * transaction.
 *
 * Your own `AccountStore` throws one if its database reports that a value is taken:
 *
 * ```ts
 * function refuse(error: Error & { errcode?: number }): never {
 *   // SQLITE_CONSTRAINT_UNIQUE of node:sqlite
 *   if (error.errcode === 2067) throw new UniqueViolationError({ columns: ["email"], cause: error });
 *   throw error;
 * }
 * ```
 */
export class UniqueViolationError extends ConstraintViolationError {
  /** @throws `E_INTERNAL` if `details.columns` is not a list of names */
  constructor(details: ConstraintDetails) {
    const columns = columnsOf(UniqueViolationError, details).join(", ");
    super("E_UNIQUE_VIOLATION", columns === "" ? undefined : message("database.unique", { columns }), details);
  }
}

/** A record refers to one that does not exist, or is still referred to (`E_FOREIGN_KEY_VIOLATION`, 409). */
export class ForeignKeyViolationError extends ConstraintViolationError {
  constructor(details: ConstraintDetails, sentence?: string) {
    super("E_FOREIGN_KEY_VIOLATION", sentence, details);
  }
}

/** A required column has no value (`E_NOT_NULL_VIOLATION`). */
export class NotNullViolationError extends ConstraintViolationError {
  constructor(details: ConstraintDetails) {
    const columns = columnsOf(NotNullViolationError, details);
    const name = [details.table ?? null, ...columns].filter((part) => part !== null).join(".");
    super("E_NOT_NULL_VIOLATION", name === "" ? undefined : `The column ${name} must have a value.`, details);
  }
}

/** Added to a message about a missing table. */
export const MIGRATE =
  " If the database has not been migrated: npx ashlar migrate. If it is a table of Ashlar's that no migration creates: npx ashlar upgrade";

/** The codes of a {@link DatabaseError}: all but the first are temporary, with 503 and `Retry-After`. */
export type DatabaseErrorCode =
  | "E_DATABASE"
  | "E_DATABASE_UNAVAILABLE"
  | "E_DATABASE_BUSY"
  | "E_DATABASE_CONFLICT"
  | "E_DATABASE_READ_ONLY"
  | "E_DATABASE_FULL"
  | "E_DATABASE_DAMAGED"
  | "E_OVERLOADED";

/**
 * Any other error that the database reports. Its code is `E_DATABASE`, or says why the database cannot run such
 * statements at the moment (503 with `Retry-After`):
 *
 * - `E_DATABASE_UNAVAILABLE`: it cannot be reached, its disk fails, or it canceled the statement because that took too long;
 * - `E_DATABASE_BUSY`: another connection or process held a lock for too long;
 * - `E_DATABASE_CONFLICT`: another transaction changed the same data (a serialization failure or a deadlock);
 * - `E_DATABASE_READ_ONLY`: it accepts no changes, for example because it is a replica;
 * - `E_DATABASE_FULL`: its disk is full;
 * - `E_DATABASE_DAMAGED`: its data cannot be read;
 * - `E_OVERLOADED`: it accepts no more connections.
 */
export class DatabaseError extends AshlarError {
  /** The database's own code: `SQLITE_BUSY`'s number or a SQLSTATE such as `42P01`; `null` if there isn't one. */
  readonly databaseCode: string | null;

  /**
   * @param reason what happened, without values of a row or a statement's parameters
   * @param databaseCode the database's own code
   */
  constructor(reason: string, databaseCode: string | null, cause?: unknown, code: DatabaseErrorCode = "E_DATABASE") {
    super(code, reason, { cause });
    this.databaseCode = databaseCode;
  }
}

/** A statement contains a column that does not exist (`E_DATABASE`). */
export class UnknownColumnError extends DatabaseError {
  /** The names that the database's message quotes: the column's, and possibly the table's. */
  readonly names: readonly string[];

  /**
   * @param reason what happened, without a value of a row or a statement's parameters
   * @param names the column's name, and any other name in the database's message that can't be distinguished from it
   * @param databaseCode the database's own code
   */
  constructor(reason: string, names: readonly string[], databaseCode: string | null, cause?: unknown) {
    super(reason, databaseCode, cause);
    this.names = names;
  }
}
