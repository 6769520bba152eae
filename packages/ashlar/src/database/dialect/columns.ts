import type { ColumnDataType, CreateTableBuilder, Expression, Kysely } from "kysely";
import { AshlarError } from "../../support/index.ts";
import type { ColumnTypes } from "./dialect-values.ts";
import type { PortableAdapter } from "./portable-adapter.ts";
import "../errors.ts";

/** The `Kysely` that a migration gets, whatever its tables are. */
// biome-ignore lint/suspicious/noExplicitAny: any database will do.
type AnyKysely = Kysely<any>;

/**
 * Adds the primary key `id`, an auto-increment number that is never reused, not even after a rollback or a deletion. On
 * SQLite this requires AUTOINCREMENT, which is declared here: with a plain `integer primary key`, the key of the last
 * row is reused once that row is gone.
 *
 * ```ts
 * export async function up(database: Kysely<unknown>): Promise<void> {
 *   await database.schema.createTable("orders").$call(primaryKey(database)).$call(timestamps(database)).execute();
 * }
 * ```
 */
export function primaryKey(
  database: AnyKysely,
): <T extends string, C extends string>(table: CreateTableBuilder<T, C>) => CreateTableBuilder<T, C | "id"> {
  const { type, define } = typesOf(database).primaryKey;
  return (table) => table.addColumn("id", type, define);
}

/** Adds `created_at` and `updated_at`, which models maintain, and which default to the current time. */
export function timestamps(
  database: AnyKysely,
): <T extends string, C extends string>(
  table: CreateTableBuilder<T, C>,
) => CreateTableBuilder<T, C | "created_at" | "updated_at"> {
  const { timestamp: type, now } = typesOf(database);
  return (table) =>
    table
      .addColumn("created_at", type, (column) => column.notNull().defaultTo(now))
      .addColumn("updated_at", type, (column) => column.notNull().defaultTo(now));
}

/**
 * The type of a column that holds a time; its model casts it as `datetime`: `.addColumn("paid_at",
 * timestamp(database))`.
 */
export function timestamp(database: AnyKysely): ColumnDataType | Expression<unknown> {
  return typesOf(database).timestamp;
}

/** The type of a column that holds JSON; its model casts it as `json`. */
export function json(database: AnyKysely): ColumnDataType | Expression<unknown> {
  return typesOf(database).json;
}

/** The type of a column for text of any length. `text` holds only 65,535 bytes on some databases. */
export function longText(database: AnyKysely): ColumnDataType | Expression<unknown> {
  return typesOf(database).longText;
}

/** The type of a column that refers to the `id` of another table. */
export function reference(database: AnyKysely): ColumnDataType | Expression<unknown> {
  return typesOf(database).reference;
}

function typesOf(database: AnyKysely): ColumnTypes {
  const { columnTypes } = database.getExecutor().adapter as Partial<PortableAdapter>;
  if (columnTypes !== undefined) return columnTypes;
  throw new AshlarError("E_INVALID_QUERY", "Column types are only known for the Kysely of a Database.");
}
