import { CompiledQuery } from "kysely";
import type { Connection } from "../connections/connection.ts";
import type { Database } from "../connections/database.ts";
import type { Executor } from "../dialect/executor.ts";
import type { Model } from "../models/model.ts";
import { type ModelMetadata, metadataOf } from "../models/model-metadata.ts";
import type { ModelClass } from "../models/model-types.ts";

const known = new WeakMap<ModelMetadata, Promise<ReadonlySet<string>>>();
const tables = new WeakMap<Database, Set<string>>();

/**
 * Returns whether a model's table has a column. Queries the table's columns only once, because migrations run before
 * the application.
 */
export async function tableHasColumn<M extends Model>(modelClass: ModelClass<M>, column: string): Promise<boolean> {
  const metadata = metadataOf(modelClass as unknown as ModelClass);
  // Earlier rows have shown that the column exists.
  if (metadata.columns.has(column)) return true;
  let columns = known.get(metadata);
  if (columns === undefined) {
    columns = columnsOf(metadata.connection, metadata.table);
    known.set(metadata, columns);
    columns.catch(() => known.delete(metadata));
  }
  return (await columns).has(column);
}

/** Returns whether a table exists on the database's default connection. Once it is found, it isn't looked up again. */
export async function hasTable(database: Database, table: string): Promise<boolean> {
  const names = tables.get(database) ?? new Set();
  tables.set(database, names);
  if (!names.has(table) && (await columnsOf(database.connection(), table)).size > 0) names.add(table);
  return names.has(table);
}

/** The columns of a table that have their own unique index; `null` if unknown. */
export async function uniqueColumnNamesOf(connection: Connection, table: string): Promise<ReadonlySet<string> | null> {
  const uniqueColumnNames = connection.dialect.inspection?.uniqueColumnNames ?? null;
  if (uniqueColumnNames === null) return null;
  return new Set((await connection.rows(uniqueColumnNames, [table])).map(({ name }) => String(name)));
}

/** The columns of a table whose text isn't compared byte by byte. */
export async function looseTextColumnsOf(connection: Connection, table: string): Promise<readonly string[]> {
  const looseText = connection.dialect.inspection?.looseText ?? null;
  if (looseText === null) return [];
  return (await connection.rows(looseText.columnNames, [table])).map(({ name }) => String(name));
}

/** The tables of a database that have neither transactions nor foreign keys. */
export async function plainTablesOf(connection: Connection): Promise<readonly string[]> {
  const plainTables = connection.dialect.inspection?.plainTables ?? null;
  if (plainTables === null) return [];
  return (await connection.rows(plainTables.names, [])).map(({ name }) => String(name));
}

/** The invalid indexes left behind by failed attempts to create them. */
export async function invalidIndexesOf(
  connection: Connection,
): Promise<readonly { readonly name: string; readonly table: string }[]> {
  const invalidIndexes = connection.dialect.inspection?.invalidIndexes ?? null;
  if (invalidIndexes === null) return [];
  const rows = await connection.rows(invalidIndexes, []);
  return rows.map(({ name, table }) => ({ name: String(name), table: String(table) }));
}

/**
 * The names of the migrations that a read replica has received.
 *
 * @param isMigrated whether the primary has a table of migrations; if not, the query only checks that the replica
 * responds
 */
export async function replicaMigrations(replica: Executor, isMigrated: boolean): Promise<string[]> {
  const query = isMigrated ? "select name from migrations" : "select 1 as name";
  return (await replica.execute(CompiledQuery.raw(query))).rows.map(({ name }) => String(name));
}

/** The current columns of a table; an empty set if the table doesn't exist. */
export async function columnsOf(connection: Connection, table: string): Promise<ReadonlySet<string>> {
  const rows = await connection.rows(connection.dialect.maintenance.columnNames, [table]);
  return new Set(rows.map(({ name }) => String(name)));
}
