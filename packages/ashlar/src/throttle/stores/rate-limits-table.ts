import type { Kysely } from "../../database/index.ts";

/** The name of the table with the counts. */
export const RATE_LIMITS_TABLE = "rate_limits";

/**
 * Creates the table `rate_limits`, which contains the counts of limits. For use in a migration:
 *
 * ```ts
 * export async function up(database: Kysely<unknown>): Promise<void> {
 *   await createRateLimitsTable(database);
 * }
 *
 * export async function down(database: Kysely<unknown>): Promise<void> {
 *   await database.schema.dropTable("rate_limits").execute();
 * }
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: a migration's Kysely may know any tables.
export async function createRateLimitsTable(database: Kysely<any>): Promise<void> {
  await database.schema
    .createTable(RATE_LIMITS_TABLE)
    .addColumn("id", "varchar(43)", (column) => column.primaryKey())
    .addColumn("attempts", "bigint", (column) => column.notNull())
    .addColumn("resets_at", "bigint", (column) => column.notNull())
    .execute();
  await database.schema
    .createIndex(`${RATE_LIMITS_TABLE}_resets_at`)
    .on(RATE_LIMITS_TABLE)
    .column("resets_at")
    .execute();
}
