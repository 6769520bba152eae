import { type Compilable, type Expression, type InsertQueryBuilder, type SqlBool, sql } from "kysely";
import type { Row } from "./executor.ts";
import { queryTemplate } from "./parameters.ts";
import type { QueryBuilder } from "./tables.ts";
import type { InsertQuery, Returned, Write, Writes } from "./writes.ts";

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
