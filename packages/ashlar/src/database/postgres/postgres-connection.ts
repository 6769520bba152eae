import type { CompiledQuery, QueryResult } from "kysely";
import type { QueryResult as PgResult, PoolClient } from "pg";
import { AshlarError } from "../../support/index.ts";
import { ColumnValueError, isStorableText, kindOf } from "../dialect/column-names.ts";
import type { Observer } from "../dialect/dialect.ts";
import type { ColumnValue, PhysicalConnection, Row } from "../dialect/executor.ts";
import { DatabaseError } from "../errors.ts";
import { afterFailure, IN_FAILED_TRANSACTION, isStatementError, translatePostgresError } from "./postgres-errors.ts";

/**
 * How much longer than the server's own limit the client waits for a statement, in milliseconds. A working server
 * cancels the statement itself, and the connection stays usable.
 */
const GRACE_MS = 1000;

const COUNTED = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

/** One connection of the pool, while it is checked out. */
export class PostgresConnection implements PhysicalConnection {
  failure: AshlarError | null = null;
  /** Whether the connection failed, and must not be returned to the pool. */
  broken = false;
  /** Whether its transaction was begun as read-only. */
  isReadOnly = false;
  /** How long a statement may take before the server cancels it; `null` for no limit. */
  statementTimeoutMs: number | null;
  readonly #client: PoolClient;
  readonly #observer: Observer;

  constructor(client: PoolClient, observer: Observer, statementTimeoutMs: number | null) {
    this.#client = client;
    this.#observer = observer;
    this.statementTimeoutMs = statementTimeoutMs;
  }

  async execute(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { command, rowCount, rows } = await this.#query(query.sql, query.parameters.map(bind));
    if (command === "COMMIT" || command === "ROLLBACK") return { rows: [{ command }] };
    if (COUNTED.has(command)) return { rows, numAffectedRows: BigInt(rowCount!) };
    return { rows };
  }

  async first(text: string, value: ColumnValue): Promise<Row | undefined> {
    const { rows } = await this.#query(text, [bind(value)]);
    return rows[0];
  }

  async #query(text: string, values: unknown[]): Promise<PgResult<Row>> {
    // Otherwise, later statements on a dead connection, such as the rollback, would wait until their deadline too.
    if (this.broken) throw new DatabaseError("The connection to the database has failed.", null, this.failure, AWAY);
    this.#observer.notify?.(text);
    try {
      const result: PgResult<Row> | PgResult<Row>[] = await this.#answered(text, values);
      // Several statements in one text return a list of results.
      return Array.isArray(result) ? result.at(-1)! : result;
    } catch (error) {
      if (!isStatementError(error)) this.broken = true;
      if ((error as NodeJS.ErrnoException).code === IN_FAILED_TRANSACTION) {
        throw afterFailure(this.failure, "An earlier statement of this transaction failed, and its error was caught");
      }
      this.failure = this.#translated(error);
      throw this.failure;
    }
  }

  #translated(error: unknown): AshlarError {
    const failure = translatePostgresError(error);
    if (failure.code !== "E_DATABASE_READ_ONLY") return failure;
    // The application has chosen a read-only transaction.
    if (this.isReadOnly) return new DatabaseError(failure.message, READ_ONLY, error);
    // A replica may have taken over in the meantime: a new connection finds the server that accepts changes.
    this.broken = true;
    return failure;
  }

  /**
   * Runs a statement with the client's own deadline, because a server that is frozen or cut off never responds. After
   * the deadline, the connection is destroyed, because the response could still arrive.
   */
  #answered(text: string, values: unknown[]): Promise<PgResult<Row>> {
    const answer = this.#client.query<Row>(text, values);
    if (this.statementTimeoutMs === null) return answer;
    const deadlineMs = this.statementTimeoutMs + GRACE_MS;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const problem = `The database server did not respond to a statement within ${deadlineMs} ms`;
        reject(new DatabaseError(`${problem}. The connection is closed.`, null, undefined, AWAY));
      }, deadlineMs);
      answer.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}

const AWAY = "E_DATABASE_UNAVAILABLE";
/** The server's code for a statement that writes in a read-only transaction. */
const READ_ONLY = "25006";

/** Converts a value for the driver, which itself converts lists to arrays and objects to JSON. */
function bind(value: unknown): unknown {
  if (value === undefined) throw new AshlarError("E_INVALID_QUERY", "A value for the database is of type undefined.");
  if (typeof value === "string" && !isStorableText(value)) {
    throw new ColumnValueError(null, `A value for the database is ${kindOf(value)}.`);
  }
  if (!(value instanceof Date)) return value;
  if (Number.isNaN(value.getTime()))
    throw new AshlarError("E_INVALID_QUERY", "A value for the database is an invalid date.");
  // The driver would send the local time, which a column without a time zone stores unchanged.
  return value.toISOString();
}
