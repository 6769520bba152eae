import { type CreateTableBuilder, type Kysely, primaryKey, reference, timestamp } from "../../database/index.ts";

/** The columns that {@link createCredentialTable} adds. */
type Added = "id" | "user_id" | "guard" | "access_epoch" | "created_at" | "last_used_at" | "expires_at";

/**
 * Creates a table for a `CredentialTable`, in a migration: with the columns that every credential has, and with the indexes
 * that ending access and pruning need.
 *
 * ```ts
 * import { createCredentialTable } from "ashlar/auth";
 * import type { Kysely } from "ashlar/database";
 *
 * export async function up(database: Kysely<unknown>): Promise<void> {
 *   await createCredentialTable(database, "recovery_codes", (table) =>
 *     table.addColumn("code_hash", "varchar(43)", (column) => column.notNull().unique()),
 *   );
 * }
 * ```
 *
 * @param table its name
 * @param define adds the feature's own columns, and `revoked_at`, a `timestamp(database)`, if the table `keepsRevoked`
 */
export async function createCredentialTable(
  database: Kysely<unknown>,
  table: string,
  define: (table: CreateTableBuilder<string, Added>) => { execute(): Promise<void> },
): Promise<void> {
  await define(withCredentialColumns(database, table)).execute();
  const index = (name: string) => database.schema.createIndex(`${table}_${name}_index`).on(table);
  await index("user_id").columns(["user_id", "guard"]).execute();
  await index("expires_at").column("expires_at").execute();
}

function withCredentialColumns(database: Kysely<unknown>, table: string): CreateTableBuilder<string, Added> {
  const time = timestamp(database);
  return (
    database.schema
      .createTable(table)
      .$call(primaryKey(database))
      // No foreign key: each guard's users can have their own table.
      .addColumn("user_id", reference(database), (column) => column.notNull())
      .addColumn("guard", "varchar(255)", (column) => column.notNull())
      // The user's access epoch when the credential was stored, which is only valid while the user still has it.
      .addColumn("access_epoch", "varchar(43)", (column) => column.notNull())
      .addColumn("created_at", time, (column) => column.notNull())
      .addColumn("last_used_at", time)
      .addColumn("expires_at", time)
  );
}
