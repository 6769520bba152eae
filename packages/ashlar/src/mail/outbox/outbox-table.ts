import { type Kysely, longText, primaryKey } from "../../database/index.ts";

/** The table of mails that wait to be sent, and of those that could not be. */
export const MAIL_OUTBOX_TABLE = "mail_outbox";

/**
 * Creates the table `mail_outbox`, in which mails wait until they are sent; for a migration:
 *
 * ```ts
 * export async function up(database: Kysely<unknown>): Promise<void> {
 *   await createMailOutboxTable(database);
 * }
 *
 * export async function down(database: Kysely<unknown>): Promise<void> {
 *   await database.schema.dropTable("mail_outbox").execute();
 * }
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: a migration's Kysely may know any tables.
export async function createMailOutboxTable(database: Kysely<any>): Promise<void> {
  await database.schema
    .createTable(MAIL_OUTBOX_TABLE)
    .$call(primaryKey(database))
    // `mail`, or the name of work that may lead to a mail.
    .addColumn("kind", "varchar(64)", (column) => column.notNull())
    .addColumn("mailable", "varchar(255)")
    // The mail, sealed.
    .addColumn("content", longText(database), (column) => column.notNull())
    // The process that works on the row, until `available_at`; empty if none does.
    .addColumn("claim", "varchar(43)")
    .addColumn("attempts", "integer", (column) => column.notNull())
    // Times are milliseconds since 1970 by the database's clock.
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("available_at", "bigint", (column) => column.notNull())
    .addColumn("retry_until", "bigint", (column) => column.notNull())
    // When it was given up, and why.
    .addColumn("failed_at", "bigint")
    .addColumn("reason", "varchar(500)")
    .execute();
  await database.schema
    .createIndex(`${MAIL_OUTBOX_TABLE}_due`)
    .on(MAIL_OUTBOX_TABLE)
    .columns(["failed_at", "available_at"])
    .execute();
}
