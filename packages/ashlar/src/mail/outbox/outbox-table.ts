import {
  type Connection,
  type Expression,
  type Kysely,
  longText,
  primaryKey,
  type SqlBool,
  sql,
} from "../../database/index.ts";
import { now, systemTime } from "../../support/index.ts";

/** The table of mails that wait to be sent, and of those that could not be. */
export const MAIL_OUTBOX_TABLE = "mail_outbox";

/**
 * Creates the table `mail_outbox`, in which mails wait until they are sent. Call it in a migration, with
 * {@link addPriorityToMailOutbox}:
 *
 * ```ts
 * export async function up(database: Kysely<unknown>): Promise<void> {
 *   await createMailOutboxTable(database);
 *   await addPriorityToMailOutbox(database);
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
    // The process that is working on the row, until `available_at`; empty if none is.
    .addColumn("claim", "varchar(43)")
    .addColumn("attempts", "integer", (column) => column.notNull())
    // Times are milliseconds since 1970 by the database's clock.
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("available_at", "bigint", (column) => column.notNull())
    .addColumn("retry_until", "bigint", (column) => column.notNull())
    // When and why the mail was abandoned.
    .addColumn("failed_at", "bigint")
    .addColumn("reason", "varchar(500)")
    .execute();
  await database.schema
    .createIndex(`${MAIL_OUTBOX_TABLE}_due`)
    .on(MAIL_OUTBOX_TABLE)
    .columns(["failed_at", "available_at"])
    .execute();
}

/**
 * Adds the column `priority`, and an index for it, to the table `mail_outbox`. With it, mails about accounts are sent
 * first, and bulk mails last. Call it in a migration, which must be a separate one if the table already exists. Without
 * the column, mails are sent in the order in which they are due.
 *
 * ```ts
 * export async function up(database: Kysely<unknown>): Promise<void> {
 *   await addPriorityToMailOutbox(database);
 * }
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: a migration's Kysely may know any tables.
export async function addPriorityToMailOutbox(database: Kysely<any>): Promise<void> {
  const { schema } = database;
  await schema
    .alterTable(MAIL_OUTBOX_TABLE)
    // The index in PRIORITIES; existing rows are ordinary.
    .addColumn("priority", "smallint", (column) => column.notNull().defaultTo(1))
    .execute();
  await schema
    .createIndex(`${MAIL_OUTBOX_TABLE}_due_by_priority`)
    .on(MAIL_OUTBOX_TABLE)
    // The time of creation is included so that the age of waiting rows can be read from the index alone.
    .columns(["failed_at", "priority", "available_at", "created_at"])
    .execute();
  await schema.dropIndex(`${MAIL_OUTBOX_TABLE}_due`).on(MAIL_OUTBOX_TABLE).execute();
}

/** The database's time, shifted like the framework's clock in tests that travel in time. */
export function databaseTime({ dialect }: Connection): Expression<number> {
  const { serverTime } = dialect.values;
  if (serverTime === null) return sql<number>`${now()}`;
  return sql<number>`(${serverTime} + ${sql.lit(now() - systemTime())})`;
}

/** Whether a row's next attempt is due. */
export function isDue(connection: Connection): Expression<SqlBool> {
  return sql<SqlBool>`available_at <= ${databaseTime(connection)}`;
}

/**
 * The order in which mails are sent: first those about accounts, and promised work that may lead to them; then all
 * others; last those queued as bulk.
 */
export type MailPriority = "account" | "ordinary" | "bulk";

/** All priorities, in the order in which their mails are sent. A row stores the index. */
export const PRIORITIES: readonly MailPriority[] = ["account", "ordinary", "bulk"];

/** The stored value for a priority. */
export function storedPriority(priority: MailPriority): number {
  return PRIORITIES.indexOf(priority);
}

/** A row's priority; `ordinary` if the table doesn't have the column. */
export function priorityOf(stored: unknown): MailPriority {
  return PRIORITIES[Number(stored ?? 1)] ?? "ordinary";
}
