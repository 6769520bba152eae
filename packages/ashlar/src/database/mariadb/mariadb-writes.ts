import { type Compilable, type Expression, type InsertQueryBuilder, type SqlBool, sql } from "kysely";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import type { Row } from "../dialect/executor.ts";
import type { QueryBuilder } from "../dialect/tables.ts";
import {
  type DeleteQuery,
  type InsertQuery,
  queryTemplate,
  type Returned,
  upsertEach,
  type Write,
  type WriteScope,
  type Writes,
} from "../dialect/writes.ts";
import { lockingUpsert, selecting } from "./locking-upsert.ts";
import { type TableKeys, tableKeys } from "./table-keys.ts";
import "../errors.ts";

/** The alias of a deleted row's key among the returned columns. */
const DELETED_KEY = "deleted_key";

/**
 * {@link Writes} with a single statement each, if the server can do it. MariaDB returns the rows of inserts and
 * deletions, but not of updates; MySQL returns none. On both, an upsert can't have a condition, and also updates a row
 * that has the same value in any other unique column. All other writes are transactions that lock the row first.
 *
 * @param hasReturning whether the server returns rows, which is known once it is connected
 */
export function mariadbWrites(hasReturning: () => MaybePromise<boolean>): Writes {
  const keysOf = tableKeys();
  const insert = (kysely: QueryBuilder, query: InsertQuery): Write => {
    const direct = oneStatement(returning(insertion(kysely, query), query.returning));
    if (query.returning.length === 0) return direct;
    const read = insertThenRead(kysely, query, keysOf);
    return chosen(hasReturning, direct, read);
  };
  return {
    insert,
    upsert(kysely, query) {
      const locking = lockingUpsert(kysely, query, insert(kysely, query));
      if (query.changeIf !== undefined) return locking;
      const direct = oneStatement(
        returning(insertion(kysely, query).onDuplicateKeyUpdate(query.changes), query.returning),
      );
      return async (scope, given) => {
        const isDirect = (await hasReturning()) && isOnlyKey(await keysOf(scope, query.table), query.key);
        return await (isDirect ? direct : locking)(scope, given);
      };
    },
    upsertRows(kysely, query) {
      const { table, rows, key, changes } = query;
      const each = upsertEach(this.upsert, kysely, query);
      const columns = Object.keys(rows[0]!);
      const lists = rows.map((row) => sql`(${sql.join(columns.map((column) => sql`${row[column]}`))})`);
      const insert = kysely
        .insertInto(table)
        .columns(columns)
        .expression(sql`values ${sql.join(lists)}`);
      const incoming = (column: string) => sql`values(${sql.ref(column)})`;
      const direct = oneStatement(returning(insert.onDuplicateKeyUpdate(changes(incoming)), query.returning));
      return async (scope, given) => {
        const isDirect = (await hasReturning()) && isOnlyKey(await keysOf(scope, table), key);
        return await (isDirect ? direct : each)(scope, given);
      };
    },
    delete(kysely, query) {
      const direct = oneStatement(deletion(kysely, query));
      if (query.returning.length === 0) return direct;
      return chosen(hasReturning, direct, readThenDelete(kysely, query));
    },
  };
}

/**
 * Chooses the write that suits the server. Once the server is known, the write is called synchronously, as on other
 * databases.
 */
function chosen(hasReturning: () => MaybePromise<boolean>, direct: Write, other: Write): Write {
  return (scope, given) => {
    const has = hasReturning();
    if (has instanceof Promise) return has.then((known) => (known ? direct : other)(scope, given));
    return (has ? direct : other)(scope, given);
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

/** Whether an upsert can only conflict with the row that has its key. An auto-increment key never conflicts. */
function isOnlyKey({ unique, counted }: TableKeys, key: readonly string[]): boolean {
  return unique.every(
    (columns) =>
      (columns.length === key.length && columns.every((column) => key.includes(column))) ||
      (columns.length === 1 && columns[0] === counted),
  );
}

/** Inserts a row, and reads it by its primary key. */
function insertThenRead(
  kysely: QueryBuilder,
  query: InsertQuery,
  keysOf: (scope: WriteScope, table: string) => Promise<TableKeys>,
): Write {
  const { table, values } = query;
  const insert = queryTemplate(insertion(kysely, query));
  return (scope, given) =>
    scope.transaction(async () => {
      const { numAffectedRows, insertId } = await scope.execute(insert(given));
      if (numAffectedRows === 0n) return [];
      const { primary, counted } = await keysOf(scope, table);
      const conditions = primary.map((column) => {
        const value = values[column] ?? (column === counted ? insertId : undefined);
        if (value !== undefined) return sql`${sql.ref(column)} = ${value}`;
        const problem = `The row can't be found again: the database has chosen the value of ${table}.${column}.`;
        throw new AshlarError("E_INVALID_QUERY", `${problem} Set it in the statement.`);
      });
      if (conditions.length === 0) {
        throw new AshlarError("E_INVALID_QUERY", `The row can't be found again: ${table} has no primary key.`);
      }
      const row = kysely.selectFrom(table).where(sql<SqlBool>`${sql.join(conditions, sql` and `)}`);
      const { rows } = await scope.execute(queryTemplate(selecting(row, query.returning))(given));
      return rows;
    });
}

function deletion(kysely: QueryBuilder, { table, where, limit, returning: returned }: DeleteQuery): Compilable {
  if (limit === undefined) return returning(kysely.deleteFrom(table).where(where), returned);
  // Kysely writes `limit` last, but MariaDB expects it before `returning`.
  const few = sql`delete from ${sql.table(table)} where ${where} limit ${sql.lit(limit)}`;
  const all = returned.length === 0 ? few : sql`${few} returning ${columnsOf(returned)}`;
  return { compile: () => all.compile(kysely) };
}

/** Locks the rows, reads them, and deletes them. */
function readThenDelete(kysely: QueryBuilder, { table, where, limit, key, returning: returned }: DeleteQuery): Write {
  const all = kysely.selectFrom(table).select(sql.ref(key).as(DELETED_KEY)).where(where).forUpdate();
  const rowsToDelete = limit === undefined ? all : all.limit(sql.lit(limit));
  const read = queryTemplate(selecting(rowsToDelete, returned));
  return (scope, given) =>
    scope.transaction(async () => {
      const { rows } = await scope.execute(read(given));
      if (rows.length === 0) return [];
      const keys = rows.map((row) => row[DELETED_KEY]);
      await scope.execute(kysely.deleteFrom(table).where(key, "in", keys).compile());
      for (const row of rows) delete row[DELETED_KEY];
      return rows;
    });
}

/** Builders of statements that can return rows. */
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

function oneStatement(query: Compilable): Write {
  const template = queryTemplate(query);
  return async ({ execute }, values): Promise<Row[]> => (await execute(template(values))).rows;
}
