import { CompiledQuery, type Kysely, sql } from "kysely";
import { AshlarError } from "../../support/index.ts";
import { DatabaseError } from "../errors.ts";
import type { PortableAdapter } from "./portable-adapter.ts";

/** Options of {@link createIndexConcurrently}. */
export interface ConcurrentIndexOptions {
  /** The index's name; default: the table and the columns, such as `orders_user_id_paid_at`. */
  readonly name?: string;
  /** Whether no two rows may have the same values; default: `false`. */
  readonly unique?: boolean;
}

/** PostgreSQL's code for a statement that can't run in a transaction. */
const IN_TRANSACTION = "25001";

/**
 * Creates an index while others read and write the table. On PostgreSQL, it needs a migration without a transaction, in which
 * it should be alone; MariaDB and MySQL refuse an index that would block writes; SQLite, which has one writer at a time,
 * builds it like any other.
 *
 * ```ts
 * export const transaction = false;
 *
 * export async function up(database: Kysely<unknown>): Promise<void> {
 *   await createIndexConcurrently(database, "orders", ["user_id", "paid_at"]);
 * }
 *
 * export async function down(database: Kysely<unknown>): Promise<void> {
 *   await database.schema.dropIndex("orders_user_id_paid_at").on("orders").execute();
 * }
 * ```
 *
 * If PostgreSQL fails to build an index, for example because values aren't unique, it leaves an invalid index behind, which
 * slows down writes and answers no query. The next attempt drops that index first.
 *
 * @param database the migration's argument
 * @param columns in their order
 * @throws `E_MIGRATION` in a transaction on PostgreSQL; the database's error if two rows have the same values, or if an
 * index with this name exists
 */
export async function createIndexConcurrently(
  // biome-ignore lint/suspicious/noExplicitAny: any database will do.
  database: Kysely<any>,
  table: string,
  columns: readonly string[],
  { name = [table.split(".").at(-1), ...columns].join("_"), unique = false }: ConcurrentIndexOptions = {},
): Promise<void> {
  const { onlineIndex } = database.getExecutor().adapter as Partial<PortableAdapter>;
  const { keyword, option, isInvalid } = onlineIndex ?? { keyword: "", option: "", isInvalid: null };
  const schema = table.includes(".") ? `${table.slice(0, table.lastIndexOf("."))}.` : "";
  const index = sql.id(...`${schema}${name}`.split("."));
  if (isInvalid !== null) {
    const { rows } = await database.executeQuery(CompiledQuery.raw(isInvalid, [table, name]));
    if (rows.length > 0) await sql`drop index ${sql.raw(keyword)} ${index}`.execute(database);
  }
  const kind = sql.raw([unique ? "unique index" : "index", keyword].join(" ").trim());
  const listed = sql.join(columns.map((column) => sql.id(column)));
  const statement = sql`create ${kind} ${sql.id(name)} on ${sql.table(table)} (${listed}) ${sql.raw(option)}`;
  await statement.execute(database).catch((error: unknown) => {
    if (!(error instanceof DatabaseError) || error.databaseCode !== IN_TRANSACTION) throw error;
    const remedy = 'Write "export const transaction = false;" in the migration, and change nothing else in it.';
    throw new AshlarError("E_MIGRATION", `An index can't be created concurrently in a transaction. ${remedy}`, {
      cause: error,
    });
  });
}
