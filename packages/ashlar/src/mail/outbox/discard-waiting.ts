import { type Connection, deleteInBatches, type SqlBool, sql } from "../../database/index.ts";
import { MAIL_OUTBOX_TABLE } from "./outbox-table.ts";

/**
 * Deletes everything that waits in the outbox: mails, and work that may lead to one. Mails that were given up stay.
 *
 * What a process has claimed goes too, because the claims in a restored backup are those of processes that have ended. One
 * that is just being sent is sent.
 *
 * @returns how many rows
 */
export function discardWaiting({ kysely }: Connection): Promise<number> {
  return deleteInBatches({ kysely, table: MAIL_OUTBOX_TABLE, key: "id" }, () => sql<SqlBool>`failed_at is null`);
}
