import { CompiledQuery, type QueryResult } from "kysely";
import type { PoolConnection, UpsertResult } from "mariadb";
import {
  type ColumnValue,
  DatabaseError,
  type Observer,
  type PhysicalConnection,
  type Row,
  UniqueViolationError,
} from "../../../src/public/database.ts";
import { AshlarError } from "../../../src/public/index.ts";
import { endsTransaction, isConnectionError, translated, unfitValue, violatedIndex } from "./mariadb-errors.ts";

/** Text that MariaDB may treat as a number in a comparison: `1abc` would equal 1. */
const LIKE_NUMBER = /^\s*[-+.]?\d/;
const NUMBER = /^-?\d+$/;
const TRUNCATED = 1292;

/** A connection of the pool, borrowed by one caller. */
export class MariadbConnection implements PhysicalConnection {
  failure: AshlarError | null = null;
  inTransaction = false;
  isBroken = false;
  /** Whether the server has rolled back the transaction. Further statements would run outside of it. */
  #isRolledBack = false;
  readonly #client: PoolConnection;
  readonly #observer: Observer;

  constructor(client: PoolConnection, observer: Observer) {
    this.#client = client;
    this.#observer = observer;
  }

  async execute({ sql: text, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#isRolledBack) {
      const problem = "The database has rolled back this transaction because of a deadlock. Repeat all of it.";
      throw new DatabaseError(problem, "40001", this.failure, "E_DATABASE_UNAVAILABLE");
    }
    this.#observer.notify?.(text);
    const values = parameters.map(bound);
    try {
      const result = await this.#client.execute<Row[] | UpsertResult>(text, values);
      if (!Array.isArray(result)) return { rows: [], numAffectedRows: BigInt(result.affectedRows) };
      if (result.length > 0 && values.some(isAlmostNumber)) await this.#checkConversions();
      return { rows: result.map(narrowed) };
    } catch (error) {
      throw await this.#failed(error, text);
    }
  }

  async first(text: string, value: ColumnValue): Promise<Row | undefined> {
    try {
      return (await this.execute(CompiledQuery.raw(text, [value]))).rows[0];
    } catch (error) {
      // No row contains a value of another type than the column's.
      if (error instanceof AshlarError && error.code === "E_INVALID_INPUT") return undefined;
      throw error;
    }
  }

  async rollback(): Promise<void> {
    this.inTransaction = false;
    this.#isRolledBack = false;
    await this.execute(CompiledQuery.raw("rollback"));
  }

  async #failed(error: unknown, text: string): Promise<AshlarError> {
    this.isBroken ||= isConnectionError(error);
    if (this.inTransaction && endsTransaction(error)) this.#isRolledBack = true;
    this.failure = await this.#withColumns(translated(error), error, text);
    return this.failure;
  }

  /** The server names only the index of a duplicate value. */
  async #withColumns(failure: AshlarError, error: unknown, text: string): Promise<AshlarError> {
    const index = violatedIndex(error);
    const [, table] = /^(?:insert into|update) `([^`]+)`/.exec(text) ?? [];
    if (index === null || table === undefined) return failure;
    const rows: Row[] = await this.#client.execute(
      `select column_name as name from information_schema.statistics
      where table_schema = database() and table_name = ? and index_name = ? order by seq_in_index`,
      [table, index],
    );
    const columns = rows.map(({ name }) => String(name));
    return new UniqueViolationError({ table, columns, constraint: index, cause: null });
  }

  /** Comparing text with a number converts it, and only warns about what it left out. */
  async #checkConversions(): Promise<void> {
    const warnings: Row[] = await this.#client.query("show warnings");
    if (warnings.some(({ Code }) => Number(Code) === TRUNCATED)) throw unfitValue();
  }
}

function isAlmostNumber(value: unknown): boolean {
  return typeof value === "string" && LIKE_NUMBER.test(value) && !NUMBER.test(value);
}

/** Numbers as text: a text column would be converted to compare it with a number, and `a` would equal 0. */
function bound(value: unknown): unknown {
  if (value === undefined) throw new AshlarError("E_INVALID_QUERY", "A value for the database is undefined.");
  if (value instanceof Date && Number.isNaN(value.getTime())) {
    throw new AshlarError("E_INVALID_QUERY", "A value for the database is an invalid date.");
  }
  // The driver would send another character instead.
  if (typeof value === "string" && !value.isWellFormed()) throw unfitValue();
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return value instanceof Uint8Array ? Buffer.from(value) : value;
}

function narrowed(row: Row): Row {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === "bigint" && Number.isSafeInteger(Number(value))) row[name] = Number(value);
  }
  return row;
}
