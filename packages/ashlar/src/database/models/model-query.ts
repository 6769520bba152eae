import { type Expression, type ExpressionBuilder, type SqlBool, sql } from "kysely";
import { AshlarError, currentDate } from "../../support/index.ts";
import { ColumnValueError, columnValue, queriedColumn } from "../dialect/column-names.ts";
import type { ColumnValue, Row } from "../dialect/executor.ts";
import { asInputError, asQueryError } from "./input-errors.ts";
import type { Model } from "./model.ts";
import { newValue, normalForm } from "./model-attributes.ts";
import { type ModelMetadata, metadataOf } from "./model-metadata.ts";
import type { Attributes, Column, ModelClass } from "./model-types.ts";
import "../errors.ts";

/** The maximum number of values in a list: SQLite allows 32,766 parameters in a statement. */
const MAX_LISTED = 30_000;

const OPERATORS = ["=", "!=", "<>", "<", "<=", ">", ">=", "like", "not like"] as const;

/** The operators that compare a column with a value. */
export type ComparisonOperator = (typeof OPERATORS)[number];

/** One page of a query's rows. */
export interface Page<M> {
  readonly data: M[];
  /** The number of rows on all pages. */
  readonly total: number;
  /** The number of this page; the first is 1. */
  readonly page: number;
  readonly perPage: number;
  /** The number of the last page; 1 if there are no rows. */
  readonly lastPage: number;
}

// biome-ignore lint/suspicious/noExplicitAny: only the name of a model's table is known.
type Builder = ExpressionBuilder<any, any>;
type Condition = (builder: Builder) => Expression<SqlBool>;

/** The orders that a request may choose; see {@link ModelQuery.orderBy}. */
export interface OrderOptions<M extends Model> {
  /** The columns that the request may name. They may include hidden ones. */
  readonly allow: readonly Column<M>[];
  /** `asc` or `desc`, which may come from the request; default: `asc`. */
  readonly direction?: unknown;
}

interface Order {
  readonly column: string;
  readonly direction: "asc" | "desc";
  /** Whether the column may be hidden. */
  readonly isAllowed: boolean;
}

interface State {
  readonly conditions: readonly Condition[];
  /** The columns that the conditions name. */
  readonly columns: readonly string[];
  readonly order: readonly Order[];
  readonly limit: number | null;
  readonly offset: number | null;
}

const EVERYTHING: State = { conditions: [], columns: [], order: [], limit: null, offset: null };

/**
 * A query for models. Each method returns a new query and leaves the original unchanged; the database is not queried
 * before `get`, `first`, `count`, `exists`, `paginate`, `update` or `delete`.
 */
export class ModelQuery<M extends Model> {
  readonly #modelClass: ModelClass<M>;
  readonly #state: State;

  /** Start queries with the model's `where` and `rows`. */
  constructor(modelClass: ModelClass<M>, state: State = EVERYTHING) {
    this.#modelClass = modelClass;
    this.#state = state;
  }

  /**
   * Only rows whose column has a value, or compares to it by the operator. Comparing `null` with `=` and `!=` works as
   * expected.
   *
   * If the table doesn't have the column, the query itself fails, with `E_INVALID_INPUT` (422) unless the model's class
   * names the column.
   *
   * @throws `E_INVALID_INPUT` (422) if the value is a list, an object or anything else that a column can't hold, or the
   * name isn't a valid column name; `E_INVALID_QUERY` if the operator is not valid, or the value is `undefined`
   */
  where(column: Column<M>, value: ColumnValue): ModelQuery<M>;
  where(column: Column<M>, operator: ComparisonOperator, value: ColumnValue): ModelQuery<M>;
  where(column: Column<M>, ...rest: [ColumnValue] | [ComparisonOperator, ColumnValue]): ModelQuery<M> {
    const [operator, value] = rest.length === 1 ? (["=", rest[0]] as const) : rest;
    const name = queriedColumn(column);
    if (!OPERATORS.includes(operator)) {
      throw new AshlarError(
        "E_INVALID_QUERY",
        `${JSON.stringify(operator)} is not an operator. The operators are ${OPERATORS.join(", ")}.`,
      );
    }
    columnValue(name, value);
    if (value !== null) return this.#if(name, (builder) => builder(name, operator, value));
    if (operator === "=") return this.whereNull(column);
    if (operator === "!=" || operator === "<>") return this.whereNotNull(column);
    throw new AshlarError("E_INVALID_QUERY", `The column "${name}" cannot be compared with null by "${operator}".`);
  }

  /**
   * Only rows whose column has one of the values; none if the list is empty.
   *
   * @param values at most 30,000, because databases limit the number of parameters
   * @throws `E_INVALID_INPUT` (422) if `values` is not a list or too long, or a column can't hold one of them
   */
  whereIn(column: Column<M>, values: readonly Exclude<ColumnValue, null>[]): ModelQuery<M> {
    const name = queriedColumn(column);
    if (!Array.isArray(values)) throw new ColumnValueError(name, `The column "${name}" must be compared with a list.`);
    if (values.length > MAX_LISTED) {
      throw new ColumnValueError(name, `The column "${name}" cannot be compared with more than ${MAX_LISTED} values.`);
    }
    if (values.length === 0) return this.#if(name, () => sql<SqlBool>`1 = 0`);
    for (const value of values) columnValue(name, value);
    return this.#if(name, (builder) => builder(name, "in", values));
  }

  /** Only rows whose column is empty. */
  whereNull(column: Column<M>): ModelQuery<M> {
    const name = queriedColumn(column);
    return this.#if(name, (builder) => builder(name, "is", null));
  }

  /** Only rows whose column is not empty. */
  whereNotNull(column: Column<M>): ModelQuery<M> {
    const name = queriedColumn(column);
    return this.#if(name, (builder) => builder(name, "is not", null));
  }

  /**
   * Orders by a column, after the columns that the query is already ordered by.
   *
   * If the column comes from a request, list those that are allowed. Any other is refused, and `null` and `undefined`
   * add no order:
   *
   * ```ts
   * const direction = request.input("direction", "asc");
   * await Order.rows().orderBy(request.input("sort"), { allow: ["number", "user_id"], direction }).get();
   * ```
   *
   * Security: the order of rows reveals a column's contents, one comparison at a time. So rows can't be ordered by a
   * hidden column, such as a password's hash, unless `allow` contains it.
   *
   * @throws `E_INVALID_INPUT` (422) if the column is not allowed, or the direction is neither `asc` nor `desc`; thrown
   * by the query itself if the column is hidden, or the table doesn't have it
   */
  orderBy(column: Column<M>, direction?: "asc" | "desc"): ModelQuery<M>;
  orderBy(column: unknown, options: OrderOptions<M>): ModelQuery<M>;
  orderBy(column: unknown, given: "asc" | "desc" | OrderOptions<M> = "asc"): ModelQuery<M> {
    if (typeof given !== "object" || given === null) return this.#orderedBy(queriedColumn(column), given, false);
    if (column === null || column === undefined) return this;
    const { allow, direction = "asc" } = given;
    if (typeof column === "string" && (allow as readonly string[]).includes(column)) {
      return this.#orderedBy(queriedColumn(column), direction, true);
    }
    throw new ColumnValueError("column", `Rows can be ordered by ${allow.join(", ")}, and by nothing else.`);
  }

  #orderedBy(column: string, direction: unknown, isAllowed: boolean): ModelQuery<M> {
    if (direction !== "asc" && direction !== "desc") {
      throw new ColumnValueError("direction", 'The direction of an order must be "asc" or "desc".');
    }
    return this.#with({ order: [...this.#state.order, { column, direction, isAllowed }] });
  }

  /** At most this many rows. */
  limit(rows: number): ModelQuery<M> {
    return this.#with({ limit: wholeNumber("limit", rows, 0) });
  }

  /** Skips the first rows. */
  offset(rows: number): ModelQuery<M> {
    return this.#with({ offset: wholeNumber("offset", rows, 0) });
  }

  /** The rows. */
  async get(): Promise<M[]> {
    const { table, connection } = this.#metadata;
    const { conditions, order, limit, offset } = this.#state;
    this.#refuseHidden();
    let query = connection.kysely.selectFrom(table).selectAll();
    for (const condition of conditions) query = query.where(condition);
    for (const { column, direction } of order) query = query.orderBy(column, direction);
    if (limit !== null) query = query.limit(limit);
    // SQLite and MariaDB only allow an offset after a limit.
    else if (offset !== null) query = query.limit(Number.MAX_SAFE_INTEGER);
    if (offset !== null) query = query.offset(offset);
    let rows: Row[];
    try {
      rows = (await query.execute()) as Row[];
    } catch (error) {
      throw this.#explained(error);
    }
    return rows.map((row) => this.#modelClass.fromRow(row));
  }

  /** The first row, or `null`. */
  async first(): Promise<M | null> {
    const [model] = await this.#with({ limit: Math.min(1, this.#state.limit ?? 1) }).get();
    return model ?? null;
  }

  /** The number of rows; order, limit and offset are ignored. */
  async count(): Promise<number> {
    const { table, connection } = this.#metadata;
    let query = connection.kysely.selectFrom(table).select(sql<number>`count(*)`.as("count"));
    for (const condition of this.#state.conditions) query = query.where(condition);
    try {
      return Number((await query.executeTakeFirstOrThrow()).count);
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** Returns whether any row matches. */
  async exists(): Promise<boolean> {
    const { table, connection } = this.#metadata;
    let query = connection.kysely.selectFrom(table).select(sql<number>`1`.as("found"));
    for (const condition of this.#state.conditions) query = query.where(condition);
    try {
      return (await query.limit(1).executeTakeFirst()) !== undefined;
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /**
   * One page of the rows, and the total number of rows.
   *
   * @param page the first is 1
   * @throws `E_INVALID_INPUT` (422) if either is not a whole number of 1 or more
   */
  async paginate(page = 1, perPage = 20): Promise<Page<M>> {
    wholeNumber("page", page, 1);
    wholeNumber("perPage", perPage, 1);
    const total = await this.count();
    const data = await this.limit(perPage)
      .offset((page - 1) * perPage)
      .get();
    return { data, total, page, perPage, lastPage: Math.max(1, Math.ceil(total / perPage)) };
  }

  /**
   * Sets columns in all matching rows with one statement. If several concurrent calls require the old value, one of
   * them gets 1 and the others get 0.
   *
   * @returns how many rows were updated
   * @throws `E_INVALID_INPUT` (422) like `save`; `E_INVALID_QUERY` if there is nothing to set, or the query has an
   * order, a limit or an offset; `E_UNIQUE_VIOLATION`, `E_FOREIGN_KEY_VIOLATION`, `E_NOT_NULL_VIOLATION`
   */
  async update(values: Attributes<M>): Promise<number> {
    this.#refuseWindow("update");
    const metadata = this.#metadata;
    const changes: Row = {};
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) continue;
      changes[name] = newValue(metadata.casts.get(queriedColumn(name)), name, normalForm(metadata, name, value));
    }
    if (Object.keys(changes).length === 0) throw new AshlarError("E_INVALID_QUERY", "There is nothing to update.");
    if (metadata.timestamps) changes.updated_at ??= currentDate();
    let query = metadata.connection.kysely.updateTable(metadata.table).set(changes);
    for (const condition of this.#state.conditions) query = query.where(condition);
    const result = await query.executeTakeFirst().catch((error: unknown) => {
      throw asInputError(metadata, values as Row, this.#explained(error));
    });
    return Number(result.numUpdatedRows);
  }

  /**
   * Deletes the matching rows with one statement. It doesn't call the models' `delete`, so the rows that method would
   * also delete, such as a user's logins, stay until `ashlar prune` or the server's daily pruning finds that the
   * model's row is gone.
   *
   * @returns how many rows were deleted
   * @throws `E_INVALID_QUERY` if the query has an order, a limit or an offset; `E_FOREIGN_KEY_VIOLATION`
   */
  async delete(): Promise<number> {
    this.#refuseWindow("delete");
    const { table, connection } = this.#metadata;
    let query = connection.kysely.deleteFrom(table);
    for (const condition of this.#state.conditions) query = query.where(condition);
    try {
      return Number((await query.executeTakeFirst()).numDeletedRows);
    } catch (error) {
      throw this.#explained(error);
    }
  }

  get #metadata(): ModelMetadata {
    return metadataOf(this.#modelClass as ModelClass);
  }

  #with(change: Partial<State>): ModelQuery<M> {
    return new ModelQuery(this.#modelClass, { ...this.#state, ...change });
  }

  #if(column: string, condition: Condition): ModelQuery<M> {
    const { conditions, columns } = this.#state;
    return this.#with({ conditions: [...conditions, condition], columns: [...columns, column] });
  }

  /** The error for a failed statement, which may have named a column that the table doesn't have. */
  #explained(error: unknown): unknown {
    const { columns, order } = this.#state;
    return asQueryError(this.#metadata, [...columns, ...order.map(({ column }) => column)], error);
  }

  /** Ignores case in column names, because SQLite and MariaDB do. */
  #refuseHidden(): void {
    const { order } = this.#state;
    if (order.length === 0) return;
    const hidden = new Set([...this.#metadata.hidden].map((column) => column.toLowerCase()));
    const refused = order.find(({ column, isAllowed }) => !isAllowed && hidden.has(column.toLowerCase()));
    if (refused === undefined) return;
    const { column } = refused;
    const remedy = `If that is what you want: orderBy("${column}", { allow: ["${column}"] }).`;
    throw new ColumnValueError(column, `Rows are not ordered by the hidden column "${column}". ${remedy}`);
  }

  /** In such statements, databases interpret an order, a limit and an offset differently. */
  #refuseWindow(verb: string): void {
    const { order, limit, offset } = this.#state;
    if (order.length === 0 && limit === null && offset === null) return;
    throw new AshlarError("E_INVALID_QUERY", `A query with an order, a limit or an offset cannot ${verb}.`);
  }
}

function wholeNumber(what: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new ColumnValueError(what, `The ${what} must be a whole number of ${least} or more.`);
}
