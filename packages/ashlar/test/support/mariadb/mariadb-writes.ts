import {
  type Compilable,
  type CompiledQuery,
  type Expression,
  type InsertQueryBuilder,
  type SqlBool,
  sql,
} from "kysely";
import {
  type InsertQuery,
  type ParameterValues,
  type QueryBuilder,
  queryTemplate,
  type Returned,
  type Row,
  UniqueViolationError,
  type UpsertQuery,
  type Write,
  type WriteScope,
  type Writes,
} from "../../../src/public/database.ts";
import { isDeadlock } from "./mariadb-errors.ts";

/** How often an upsert starts over because another one inserted the row in between. */
const ATTEMPTS = 20;

/**
 * MariaDB returns the rows of inserts and deletions, but not of updates, and its upsert has no condition, so a
 * transaction is needed. Its upsert also updates a row with the same value in any other unique column.
 */
export const mariadbWrites: Writes = {
  insert: (kysely, query) => oneStatement(returning(insertion(kysely, query), query.returning)),
  upsert(kysely, query) {
    if (query.changeIf !== undefined) return conditionalUpsert(kysely, query, query.changeIf);
    return oneStatement(returning(insertion(kysely, query).onDuplicateKeyUpdate(query.changes), query.returning));
  },
  delete(kysely, { table, where, limit, returning: returned }) {
    if (limit === undefined) return oneStatement(returning(kysely.deleteFrom(table).where(where), returned));
    // Kysely puts a limit last, and MariaDB expects it before `returning`.
    const few = sql`delete from ${sql.table(table)} where ${where} limit ${sql.lit(limit)}`;
    const all = returned.length === 0 ? few : sql`${few} returning ${columnsOf(returned)}`;
    return oneStatement({ compile: () => all.compile(kysely) });
  },
};

/** Locks the row and changes it; or inserts it, and starts over if another has done that in the meantime. */
function conditionalUpsert(kysely: QueryBuilder, query: UpsertQuery, changeIf: Expression<SqlBool>): Write {
  const { table, key, values, changes, onlyIf } = query;
  const isRow = sql<SqlBool>`${sql.join(
    key.map((column) => sql`${sql.ref(`${table}.${column}`)} = ${values[column]}`),
    sql` and `,
  )}`;
  const row = kysely.selectFrom(table).where(isRow);
  const conditions = onlyIf === undefined ? changeIf : sql<SqlBool>`(${changeIf}) and (${onlyIf})`;
  const lock = queryTemplate(row.select(sql`1`.as("found")).forUpdate());
  const update = queryTemplate(kysely.updateTable(table).set(changes).where(isRow).where(conditions));
  const read = query.returning.length === 0 ? null : queryTemplate(selecting(row, query.returning));
  const insert = oneStatement(returning(insertion(kysely, query), query.returning));

  const once = (scope: WriteScope, given: ParameterValues): Promise<Row[]> =>
    scope.transaction(async () => {
      const execute = async (query: CompiledQuery) => await scope.execute(query);
      if ((await execute(lock(given))).rows.length === 0) return await insert(scope, given);
      const { numAffectedRows } = await execute(update(given));
      return numAffectedRows === 0n || read === null ? [] : (await execute(read(given))).rows;
    });

  return async (scope, given) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(scope, given);
      } catch (error) {
        // In the caller's transaction, a deadlock has ended that, and the next attempt reports it.
        if (attempt === ATTEMPTS || !(error instanceof UniqueViolationError || isDeadlock(error))) throw error;
      }
    }
  };
}

// biome-ignore lint/suspicious/noExplicitAny: only the table's name is known.
type Insertion = InsertQueryBuilder<any, any, any>;

function insertion(kysely: QueryBuilder, { table, values, onlyIf }: InsertQuery): Insertion {
  const columns = Object.keys(values);
  const insert = kysely.insertInto(table).columns(columns);
  if (onlyIf === undefined) {
    const list = sql.join(columns.map((column) => sql`${values[column]}`));
    return insert.expression(sql`values (${columns.length === 0 ? sql`` : list})`);
  }
  const selected = columns.map((column) => sql`${values[column]}`.as(column));
  return insert.expression(kysely.selectNoFrom(selected).where(onlyIf));
}

/** The builders of statements that can return rows. */
interface Returning extends Compilable {
  returning(columns: Exclude<Returned, "all">): Compilable;
  returningAll(): Compilable;
}

function returning(query: Compilable, returned: Returned): Compilable {
  if (returned.length === 0) return query;
  const builder = query as Returning;
  return returned === "all" ? builder.returningAll() : builder.returning(returned);
}

function columnsOf(returned: Returned): Expression<unknown> {
  if (returned === "all") return sql`*`;
  return sql.join(returned.map((column) => (typeof column === "string" ? sql.ref(column) : column)));
}

interface Selecting extends Compilable {
  select(columns: Exclude<Returned, "all">): Compilable;
  selectAll(): Compilable;
}

function selecting(query: object, returned: Returned): Compilable {
  const builder = query as Selecting;
  return returned === "all" ? builder.selectAll() : builder.select(returned);
}

function oneStatement(query: Compilable): Write {
  const template = queryTemplate(query);
  return async ({ execute }, values) => (await execute(template(values))).rows;
}
