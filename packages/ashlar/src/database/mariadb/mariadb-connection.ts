import { CompiledQuery, type QueryResult } from "kysely";
import { AshlarError } from "../../support/index.ts";
import { ColumnValueError } from "../dialect/column-names.ts";
import type { Observer } from "../dialect/dialect.ts";
import type { ColumnValue, PhysicalConnection, Row } from "../dialect/executor.ts";
import { DatabaseError, UniqueViolationError } from "../errors.ts";
import type { Answer, MariadbClient } from "./mariadb-client.ts";
import {
  convertedText,
  convertedValue,
  endsTransaction,
  isEndOfSession,
  translateMariadbError,
  violatedIndex,
} from "./mariadb-errors.ts";
import { limitStatement } from "./mariadb-server.ts";
import { boundValue, isConvertible } from "./mariadb-values.ts";
import { onlyWarns } from "./unrefused-changes.ts";

/** The server's warning that it used only the beginning of a text as a number or a time. */
const TRUNCATED = 1292;

/** Statements that read the warnings, which aren't checked for warnings themselves. */
const LOOK = /^\s*show\b/i;

/**
 * The statements before a statement that may have to be undone, after it, and to undo it: within a transaction, or
 * alone.
 */
const IN_TRANSACTION = [
  "savepoint unconverted",
  "release savepoint unconverted",
  "rollback to savepoint unconverted",
] as const;
const ALONE = ["start transaction", "commit", "rollback"] as const;

const WRITTEN_TABLE = /^(?:insert into|update) ["`]([^"`]+)["`]/;

const INDEX_COLUMNS = `select column_name as name from information_schema.statistics
  where table_schema = database() and table_name = ? and index_name = ? order by seq_in_index`;

/** One client of the pool, while it is checked out. */
export class MariadbConnection implements PhysicalConnection {
  failure: AshlarError | null = null;
  /** Whether the connection failed, and must not be returned to the pool. */
  isBroken = false;
  inTransaction = false;
  readonly client: MariadbClient;
  /**
   * The error with which the server has rolled back the transaction; `null` if it hasn't. Further statements would run
   * outside of any transaction.
   */
  #ended: AshlarError | null = null;
  readonly #observer: Observer;

  constructor(client: MariadbClient, observer: Observer) {
    this.client = client;
    this.#observer = observer;
  }

  async execute({ sql: text, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#ended !== null) {
      const problem = `The database has rolled back this transaction (${this.#ended.message}). Repeat the whole transaction.`;
      throw new DatabaseError(problem, (this.#ended as DatabaseError).databaseCode, this.#ended, "E_DATABASE_CONFLICT");
    }
    this.#observer.notify?.(text);
    const values = parameters.map(boundValue);
    try {
      const { rows, affectedRows, insertId } = await this.#answer(text, values);
      if (rows !== null) return { rows };
      return { rows: [], numAffectedRows: BigInt(affectedRows), insertId: BigInt(insertId) };
    } catch (error) {
      throw await this.#failed(error, text);
    }
  }

  async first(text: string, value: ColumnValue): Promise<Row | undefined> {
    try {
      return (await this.execute(CompiledQuery.raw(text, [value]))).rows[0];
    } catch (error) {
      // No row has the number "abc". Other databases find nothing in this case, and so does this one.
      if (error instanceof ColumnValueError) return undefined;
      throw error;
    }
  }

  /** Rolls back the whole transaction, even if the server has already done so. */
  async rollback(): Promise<void> {
    this.inTransaction = false;
    this.#ended = null;
    await this.execute(CompiledQuery.raw("rollback"));
  }

  /** Sets how long statements may take from here on, in milliseconds; `null` for no limit. */
  async limitStatements(statementTimeoutMs: number | null): Promise<void> {
    this.client.statementTimeoutMs = statementTimeoutMs;
    await this.execute(CompiledQuery.raw(limitStatement(this.client.server, { statementTimeoutMs })));
  }

  async #failed(error: unknown, text: string): Promise<AshlarError> {
    this.isBroken ||= this.client.isDead || (!(error instanceof AshlarError) && isEndOfSession(error));
    const [, table = null] = WRITTEN_TABLE.exec(text) ?? [];
    const failure = translateMariadbError(error, this.client.server.name, { table });
    this.failure = table === null ? failure : await this.#withColumns(failure, error, table);
    if (this.inTransaction && endsTransaction(error)) this.#ended = this.failure;
    return this.failure;
  }

  /** Looks up the columns of a duplicate value, because the server names only the index. */
  async #withColumns(failure: AshlarError, error: unknown, table: string): Promise<AshlarError> {
    const constraint = violatedIndex(error);
    if (constraint === null) return failure;
    const { rows } = await this.client.send(INDEX_COLUMNS, [table, constraint]);
    return new UniqueViolationError({ table, constraint, columns: rows!.map(({ name }) => String(name)) });
  }

  /**
   * Runs a statement, and refuses it if text was compared with a number. The server would convert the text and only
   * warn about the part it ignored, so `abc` would equal 0. Each answer comes with the number of warnings. The server
   * refuses most such changes; the others are undone here.
   */
  async #answer(text: string, values: readonly unknown[]): Promise<Answer> {
    if (LOOK.test(text)) return await this.client.send(text, values);
    if (onlyWarns(text, values)) return await this.#undoing(() => this.#unconverted(text, values));
    return await this.#unconverted(text, values);
  }

  async #unconverted(text: string, values: readonly unknown[]): Promise<Answer> {
    const answer = await this.client.send(text, values);
    const { rows, affectedRows, warnings } = answer;
    if (warnings === 0 || (rows === null ? affectedRows : rows.length) === 0) return answer;
    // If the driver doesn't provide the count, asking for it after every statement would cost too much.
    if (warnings === null && !values.some(isConvertible)) return answer;
    const { rows: all } = await this.client.send("show warnings", []);
    if (!all!.some(({ Code }) => Code === TRUNCATED)) return answer;
    throw values.some(isConvertible) ? convertedValue() : convertedText(this.client.server.name, TRUNCATED);
  }

  /** Runs a statement, and undoes it if it is refused afterwards. */
  async #undoing(run: () => Promise<Answer>): Promise<Answer> {
    const [begin, end, undo] = this.inTransaction ? IN_TRANSACTION : ALONE;
    await this.client.send(begin, []);
    try {
      const answer = await run();
      await this.client.send(end, []);
      return answer;
    } catch (error) {
      // A deadlock has undone everything, including the savepoint.
      if (!this.client.isDead && !endsTransaction(error)) await this.client.send(undo, []);
      throw error;
    }
  }
}
