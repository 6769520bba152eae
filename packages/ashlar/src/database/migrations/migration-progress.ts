import type { Connection } from "../connections/connection.ts";
import { ColumnValueError } from "../dialect/column-names.ts";
import { ConstraintViolationError, DatabaseError } from "../errors.ts";

/** Statements that leave nothing behind. */
const PASSING = /^\s*(?:select|show|explain|pragma|begin|start transaction|set|savepoint|release|commit|rollback)\b/i;

/** How much of a statement is shown. */
const SHOWN_CHARACTERS = 200;

/** The statements of a migration without a transaction, to report its leftovers if it fails. */
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

  /** The last statement had no effect, and is run again. */
  again(): void {
    this.#statements.pop();
  }

  /** Whether an error comes from the migration's first statement. */
  failedAtOnce(error: unknown): boolean {
    return this.#statements.length === 1 && this.#hasFailed(error);
  }

  /**
   * Describes the work of the migration: `It ran: create table "a" …; create table "b" …. This failed: drop table "c".`
   * If the connection was lost or the wait ended, the server may have run the last one, and the sentence says so.
   *
   * @param error why it failed
   * @returns a sentence to append; empty if it did nothing
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
    // The cause belongs to a statement that has waited for a lock too often.
    return !this.#isFinished && (isOfStatement(error) || isOfStatement(Object(error).cause));
  }
}

/** Whether the database has refused a statement, which then is the latest one. */
function isOfStatement(error: unknown): boolean {
  return [DatabaseError, ConstraintViolationError, ColumnValueError].some((type) => error instanceof type);
}

/** Whether the server may have run the statement: its connection was lost, or it took too long. */
function mayHaveRun(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "E_DATABASE_UNAVAILABLE";
}

function shown(sql: string): string {
  const line = sql.replaceAll(/\s+/g, " ").trim();
  return line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line;
}
