import { type Compilable, type Expression, type SqlBool, sql } from "kysely";
import type { ColumnValue, Row } from "../dialect/executor.ts";
import type { QueryBuilder } from "../dialect/tables.ts";
import type { Returned, UpsertQuery, Write, WriteScope } from "../dialect/writes.ts";
import { type ParameterValues, parameter, queryTemplate } from "../dialect/writes.ts";
import { UniqueViolationError } from "../errors.ts";
import { isConflict } from "../executors/executor-layers.ts";

/** How often an upsert is tried if other transactions keep inserting the row. */
const ATTEMPTS = 20;

/** The column in the locking read's result that says whether to change the existing row. */
const IS_CHANGED = "is_changed";

/** The name of a changed column's new value, in the locking read and as a parameter. */
const changeName = (index: number): string => `change_${index}`;

/**
 * An upsert in a transaction: locks the row and changes it, or inserts it if it is missing. Starts over if another
 * transaction has inserted the row in the meantime.
 *
 * The locking read computes the new values, because in MySQL's UPDATE, each assignment sees the results of those before
 * it.
 *
 * @param insert inserts the row
 */
export function lockingUpsert(kysely: QueryBuilder, query: UpsertQuery, insert: Write): Write {
  const { table, key, values, changes, changeIf, onlyIf } = query;
  const columns = Object.keys(changes);
  const conditions = [changeIf, onlyIf].filter((one) => one !== undefined);
  const isChanged = conditions.length === 0 ? sql`1` : sql`(${joined(conditions)})`;
  const where = (valueIn: (column: string) => unknown): Expression<SqlBool> =>
    joined(key.map((column) => sql`${sql.ref(`${table}.${column}`)} = ${valueIn(column)}`));

  const row = kysely.selectFrom(table).where(where((column) => values[column]));
  const computed = columns.map((column, index) => sql`${changes[column]}`.as(changeName(index)));
  const lock = queryTemplate(row.select([isChanged.as(IS_CHANGED), ...computed]).forUpdate());
  const change = Object.fromEntries(columns.map((column, index) => [column, parameter(changeName(index))]));
  const update = queryTemplate(
    kysely
      .updateTable(table)
      .set(change)
      .where(where((column) => values[column])),
  );
  const changed = kysely.selectFrom(table).where(where((column) => change[column] ?? values[column]));
  const read = query.returning.length === 0 ? null : queryTemplate(selecting(changed, query.returning));

  const once = (scope: WriteScope, given: ParameterValues): Promise<Row[]> =>
    scope.transaction(async () => {
      const [found] = (await scope.execute(lock(given))).rows;
      if (found === undefined) return await insert(scope, given);
      if (Number(found[IS_CHANGED]) !== 1) return [];
      const complete: ParameterValues = { ...given, ...(found as Record<string, ColumnValue>) };
      await scope.execute(update(complete));
      return read === null ? [] : (await scope.execute(read(complete))).rows;
    });

  return async (scope, given) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(scope, given);
      } catch (error) {
        // In the caller's transaction, a conflict ends the whole transaction, so that the next attempt fails.
        if (attempt === ATTEMPTS || !(isConflict(error) || isAbout(error, key))) throw error;
      }
    }
  };
}

/** Whether an insert failed because another row with this key already exists. */
function isAbout(error: unknown, key: readonly string[]): boolean {
  if (!(error instanceof UniqueViolationError)) return false;
  return error.columns.length === key.length && error.columns.every((column) => key.includes(column));
}

function joined(conditions: readonly Expression<unknown>[]): Expression<SqlBool> {
  return sql<SqlBool>`${sql.join(
    conditions.map((condition) => sql`(${condition})`),
    sql` and `,
  )}`;
}

interface Selecting extends Compilable {
  select(columns: Exclude<Returned, "all">): Compilable;
  selectAll(): Compilable;
}

/** A SELECT with the columns that a write returns. */
export function selecting(query: object, returned: Returned): Compilable {
  const builder = query as Selecting;
  return returned === "all" ? builder.selectAll() : builder.select(returned);
}
