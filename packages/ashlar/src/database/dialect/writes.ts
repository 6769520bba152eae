import {
  type AliasedExpression,
  type Compilable,
  CompiledQuery,
  type Expression,
  type InsertQueryBuilder,
  type SqlBool,
  sql,
} from "kysely";
import type { MaybePromise } from "../../support/index.ts";
import type { ColumnValue, Executor, Row } from "./executor.ts";
import type { QueryBuilder } from "./tables.ts";

/** The values of a statement's parameters, by name. */
export type ParameterValues = Readonly<Record<string, ColumnValue>>;

/** A statement that was compiled once. It runs in the caller's transaction. */
export type PreparedStatement = (values: ParameterValues) => MaybePromise<Row[]>;

class Parameter {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A placeholder in a query for a value that is passed each time the query runs.
 *
 * @param name any text; placeholders with the same name have the same value
 */
export function parameter<T extends ColumnValue>(name: string): Expression<T> {
  return sql.val(new Parameter(name)) as unknown as Expression<T>;
}

/**
 * Compiles a query once, so that it can run many times with different values for its parameters.
 *
 * @returns a function that returns the compiled query with these values for its parameters
 */
export function queryTemplate(query: Compilable): (values: Readonly<Record<string, ColumnValue>>) => CompiledQuery {
  const { sql: text, parameters } = query.compile();
  return (values) =>
    CompiledQuery.raw(
      text,
      parameters.map((given) => (given instanceof Parameter ? values[given.name] : given)),
    );
}

/** Values by column: plain values, SQL expressions or parameters. */
export type WrittenValues = Readonly<Record<string, unknown>>;

/** The columns that a write returns: some columns, expressions with an alias, or every column. */
export type Returned = "all" | readonly (string | AliasedExpression<unknown, string>)[];

/** An insert of one row. */
export interface InsertQuery {
  readonly table: string;
  /** The row's values. Columns that are left out get their defaults; the object may be empty. */
  readonly values: WrittenValues;
  /**
   * Nothing is stored unless this holds. It may lock the rows it reads (`lockRows`), so that it still holds when the
   * transaction ends.
   */
  readonly onlyIf?: Expression<SqlBool>;
  /** The returned columns of the stored row; an empty list for none. */
  readonly returning: Returned;
}

/** An insert of one row or, if a row with the same key exists, an update of that row. */
export interface UpsertQuery extends InsertQuery {
  /** The columns of the key: the primary key or a unique index. */
  readonly key: readonly string[];
  /** The changes to an existing row. Expressions refer to the row before the change, as `table.column`. */
  readonly changes: WrittenValues;
  /** An existing row is not changed, and not returned, unless this holds for it. */
  readonly changeIf?: Expression<SqlBool>;
}

/** An upsert of several rows with different keys. */
export interface UpsertRowsQuery {
  readonly table: string;
  /** The rows' values, each with the same columns. */
  readonly rows: readonly WrittenValues[];
  /** The columns of the key: the primary key or a unique index. */
  readonly key: readonly string[];
  /**
   * The changes to an existing row. Expressions refer to the row before the change, as `table.column`.
   *
   * @param incoming an expression for the value that a column of the row would have been stored with
   */
  changes(incoming: (column: string) => Expression<unknown>): WrittenValues;
  /** The returned columns of each stored row, in no particular order. */
  readonly returning: Returned;
}

/** A deletion of rows. */
export interface DeleteQuery {
  readonly table: string;
  readonly where: Expression<SqlBool>;
  /** The maximum number of rows to delete, in no particular order; default: all. */
  readonly limit?: number;
  /** A unique column of the table. */
  readonly key: string;
  /** The returned columns of the deleted rows. */
  readonly returning: Returned;
}

/**
 * A prepared write, with the values of its parameters.
 *
 * @returns one row for each row that it stored, changed or deleted
 */
export type Write = (
  scope: {
    /** Runs one statement, in the caller's transaction if there is one. */
    execute: Executor["execute"];
    /** Runs a function in a transaction, which is nested if the caller is in one. */
    transaction<T>(task: () => MaybePromise<T>): Promise<T>;
  },
  values: Readonly<Record<string, ColumnValue>>,
) => MaybePromise<Row[]>;

/** The scope in which a write runs. */
export type WriteScope = Parameters<Write>[0];

/**
 * Writes that return rows, or that depend on stored values. The framework uses them where concurrent requests
 * compete, for example for the last attempt of a limit.
 *
 * Each write is **atomic**. Of concurrent writes, in any number of processes, each sees the complete result of the one
 * before it. A write that throws has changed nothing.
 *
 * `returningWrites` implements them for databases with `returning` and `on conflict`, with one statement each. For other
 * databases, a write can be several statements in a transaction that locks the row first (`select … for update`).
 *
 * A method is called once for many runs, so compile statements in it, with `queryTemplate`.
 */
export interface Writes {
  /** Prepares an insert. It throws `UniqueViolationError` if a row with the same unique value exists. */
  insert(kysely: QueryBuilder, query: InsertQuery): Write;
  /** Prepares an upsert. It never fails because of a row with the same key, even if that is inserted concurrently. */
  upsert(kysely: QueryBuilder, query: UpsertQuery): Write;
  /**
   * Prepares an upsert of several rows. Each row is atomic; if the write throws, some rows may be stored. Concurrent
   * upserts that list their rows in the order of the key don't deadlock. Leave it out if one statement can't do it: the
   * rows are then upserted one by one.
   */
  upsertRows?(kysely: QueryBuilder, query: UpsertRowsQuery): Write;
  /** Prepares a deletion. Of concurrent deletions of a row, one returns it. */
  delete(kysely: QueryBuilder, query: DeleteQuery): Write;
}

/** Prepares a connection's {@link Writes}: each runs in the caller's transaction. */
export class PreparedWrites {
  readonly #writes: Writes;
  readonly #kysely: QueryBuilder;
  readonly #scope: WriteScope;

  /** @param scope runs the statements of every write */
  constructor(writes: Writes, kysely: QueryBuilder, scope: WriteScope) {
    this.#writes = writes;
    this.#kysely = kysely;
    this.#scope = scope;
  }

  /** An insert that returns its row, or that has a condition. */
  insert(query: InsertQuery): PreparedStatement {
    return this.#prepared(this.#writes.insert(this.#kysely, query));
  }

  /** An insert that updates the row with the same key if there is one. */
  upsert(query: UpsertQuery): PreparedStatement {
    return this.#prepared(this.#writes.upsert(this.#kysely, query));
  }

  /** An upsert of several rows, with one statement if the dialect can. */
  upsertRows(query: UpsertRowsQuery): PreparedStatement {
    const writes = this.#writes;
    return this.#prepared(
      writes.upsertRows?.(this.#kysely, query) ?? upsertEach(writes.upsert.bind(writes), this.#kysely, query),
    );
  }

  /** A deletion that returns its rows. */
  delete(query: DeleteQuery): PreparedStatement {
    return this.#prepared(this.#writes.delete(this.#kysely, query));
  }

  #prepared(write: Write): PreparedStatement {
    const scope = this.#scope;
    return (values) => write(scope, values);
  }
}

/** An upsert of several rows, one by one. */
export function upsertEach(
  upsert: Writes["upsert"],
  kysely: QueryBuilder,
  { table, rows, key, changes, returning }: UpsertRowsQuery,
): Write {
  const each = rows.map((values) => {
    const incoming = (column: string) => sql`${values[column]}`;
    return upsert(kysely, { table, values, key, changes: changes(incoming), returning });
  });
  return async (scope, given) => {
    const stored: Row[] = [];
    for (const write of each) stored.push(...(await write(scope, given)));
    return stored;
  };
}

/** {@link Writes} for databases with `returning` and `on conflict`, such as SQLite and PostgreSQL, with one statement each. */
export const returningWrites: Writes = {
  insert: (kysely, query) => oneStatement(reading(insertion(kysely, query), query.returning)),
  upsert(kysely, { key, changes, changeIf, ...query }) {
    const upsert = insertion(kysely, query).onConflict((conflict) => {
      const changed = conflict.columns(key).doUpdateSet(changes);
      return changeIf === undefined ? changed : changed.where(changeIf);
    });
    return oneStatement(reading(upsert, query.returning));
  },
  upsertRows(kysely, { table, rows, key, changes, returning }) {
    const incoming = (column: string) => sql.ref(`excluded.${column}`);
    const upsert = kysely
      .insertInto(table)
      .values([...rows])
      .onConflict((conflict) => conflict.columns(key).doUpdateSet(changes(incoming)));
    return oneStatement(reading(upsert, returning));
  },
  delete(kysely, { table, where, limit, key, returning }) {
    const all = kysely.deleteFrom(table).where(where);
    if (limit === undefined) return oneStatement(reading(all, returning));
    // The condition is checked twice: a row that was selected may have changed before it is deleted.
    const few = kysely.selectFrom(table).select(key).where(where).limit(sql.lit(limit));
    return oneStatement(reading(all.where(key, "in", few), returning));
  },
};

// biome-ignore lint/suspicious/noExplicitAny: only the table's name is known.
type Insertion = InsertQueryBuilder<any, any, any>;

function insertion(kysely: QueryBuilder, { table, values, onlyIf }: Omit<InsertQuery, "returning">): Insertion {
  const insert = kysely.insertInto(table);
  if (onlyIf !== undefined) return insert.columns(Object.keys(values)).expression(selection(kysely, values, onlyIf));
  return Object.keys(values).length === 0 ? insert.defaultValues() : insert.values(values);
}

/** A query that returns the values as one row if the condition holds. */
function selection(kysely: QueryBuilder, values: InsertQuery["values"], onlyIf: Expression<SqlBool>) {
  const columns = Object.entries(values).map(([name, value]) => sql`${value}`.as(name));
  return kysely.selectNoFrom(columns).where(onlyIf);
}

/** The builders of statements that can return rows. */
interface Reading extends Compilable {
  returning(columns: Exclude<Returned, "all">): Compilable;
  returningAll(): Compilable;
}

function reading(query: Compilable, returning: Returned): Compilable {
  if (returning.length === 0) return query;
  const builder = query as Reading;
  return returning === "all" ? builder.returningAll() : builder.returning(returning);
}

function oneStatement(query: Compilable): Write {
  const template = queryTemplate(query);
  return ({ execute }, values) => {
    const done = execute(template(values));
    return done instanceof Promise ? done.then(rowsOf) : rowsOf(done);
  };
}

function rowsOf({ rows }: { readonly rows: Row[] }): Row[] {
  return rows;
}
