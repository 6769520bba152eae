import type { Connection } from "../connections/connection.ts";
import { ColumnValueError } from "../dialect/column-names.ts";
import { ConstraintViolationError, DatabaseError } from "../errors.ts";

/** Statements that leave nothing behind. */
const PASSING = /^\s*(?:select|show|explain|pragma|begin|start transaction|set|savepoint|release|commit|rollback)\b/i;

/** How many characters of a statement are shown. */
const SHOWN_CHARACTERS = 200;

/**
 * Records the statements of a migration that runs without a transaction, so that an error can say what is left behind.
 */
export class MigrationProgress {
  readonly #statements: string[] = [];
  #isFinished = false;

  /**
   * Runs a migration's function, and records its statements.
   *
   * @param connection the migration's connection, which nothing else uses in the meantime
   */
  async watch(connection: Connection, task: () => Promise<void>): Promise<void> {
    const stop = connection.onQuery(({ sql }) => {
      if (!PASSING.test(sql)) this.#statements.push(shown(sql));
    });
    try {
      await task();
      this.#isFinished = true;
    } finally {
      stop();
    }
  }

  /** Forgets the last statement, which had no effect and is about to run again. */
  again(): void {
    this.#statements.pop();
  }

  /** Whether an error comes from the migration's first statement. */
  failedAtOnce(error: unknown): boolean {
    return this.#statements.length === 1 && this.#hasFailed(error);
  }

  /**
   * Describes what the migration has done: `It ran: create table "a" …; create table "b" …. This failed: drop table
   * "c".` If the connection was lost or the statement timed out, also says that the server may have run it.
   *
   * @param error why it failed
   * @returns a sentence to append; empty if the migration did nothing
   */
  describe(error: unknown): string {
    const done = [...this.#statements];
    const failed = this.#hasFailed(error) ? done.pop() : undefined;
    const before = done.length === 0 ? "" : ` It ran: ${done.join("; ")}.`;
    if (failed === undefined) return before;
    return `${before} This failed${mayHaveRun(error) ? ", but may have run" : ""}: ${failed}.`;
  }

  /** Whether an error comes from the last statement. */
  #hasFailed(error: unknown): boolean {
    // If a statement has waited for a lock too often, its own error is the cause.
    return !this.#isFinished && (isOfStatement(error) || isOfStatement(Object(error).cause));
  }
}

/** Whether the error is the database's refusal of a statement, which must be the last one. */
function isOfStatement(error: unknown): boolean {
  return [DatabaseError, ConstraintViolationError, ColumnValueError].some((type) => error instanceof type);
}

/** Whether the server may have run the statement, because the connection was lost or the statement took too long. */
function mayHaveRun(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "E_DATABASE_UNAVAILABLE";
}

function shown(sql: string): string {
  const line = sql.replaceAll(/\s+/g, " ").trim();
  return line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line;
}
