import type { Kysely } from "../../database/index.ts";

/** The table of session data. */
export const SESSION_DATA_TABLE = "session_data";

/**
 * Creates the table `session_data`, in which `databaseSessions()` keeps sessions. Call it in a migration:
 *
 * ```ts
 * export async function up(database: Kysely<unknown>): Promise<void> {
 *   await createSessionDataTable(database);
 * }
 *
 * export async function down(database: Kysely<unknown>): Promise<void> {
 *   await database.schema.dropTable("session_data").execute();
 * }
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: a migration's Kysely may know any tables.
export async function createSessionDataTable(database: Kysely<any>): Promise<void> {
  // Migrations run with the database code loaded. An application that keeps sessions in cookies shouldn't have to load
  // it for this.
  const { longText, timestamp } = await import("../../database/index.ts");
  await database.schema
    .createTable(SESSION_DATA_TABLE)
    .addColumn("id", "varchar(43)", (column) => column.primaryKey())
    .addColumn("data", longText(database), (column) => column.notNull())
    .addColumn("created_at", timestamp(database), (column) => column.notNull())
    .addColumn("last_used_at", timestamp(database), (column) => column.notNull())
    .execute();
  // For pruning, which deletes sessions that haven't been used for a long time, and those that are too old regardless
  // of use.
  for (const column of ["last_used_at", "created_at"]) {
    await database.schema
      .createIndex(`${SESSION_DATA_TABLE}_${column}`)
      .on(SESSION_DATA_TABLE)
      .column(column)
      .execute();
  }
}
