import { type Connection, pauseAfterBatch, type Row, sql } from "../../database/index.ts";
import { type MailMessage, recipientsOf } from "../message/mail-message.ts";
import type { OutboxSeal } from "./outbox-seal.ts";
import { MAIL_OUTBOX_TABLE } from "./outbox-table.ts";

/** A row of the outbox that was deleted without sending its mail. */
export interface DiscardedRow {
  readonly id: string;
  /** `mail`, or the name of promised work. */
  readonly kind: string;
  /** The name of the mail's class; `null` if there is no mail yet. */
  readonly mailable: string | null;
  /** `null` if there is no mail yet, or if it can't be opened. */
  readonly recipients: readonly string[] | null;
  readonly createdAt: Date;
}

const DISCARDED_AT_ONCE = 500;

/**
 * Deletes everything that waits in the outbox: mails, and work that may lead to one. Abandoned mails stay.
 *
 * Claimed rows are deleted, too, because the claims in a restored backup belong to processes that have ended. A mail
 * that is being sent at that moment still goes out.
 *
 * @param discarded receives the deleted mails, in batches
 * @returns how many rows were deleted
 */
export async function discardWaiting(
  connection: Connection,
  seal: OutboxSeal,
  discarded: (rows: readonly DiscardedRow[]) => void,
): Promise<number> {
  const remove = connection.writes.delete({
    table: MAIL_OUTBOX_TABLE,
    where: sql`failed_at is null`,
    limit: DISCARDED_AT_ONCE,
    key: "id",
    returning: ["id", "kind", "mailable", "content", "created_at"],
  });
  let count = 0;
  for (;;) {
    const begun = performance.now();
    const rows = await remove({});
    count += rows.length;
    discarded(rows.map((row) => discardedRow(row, seal)));
    if (rows.length < DISCARDED_AT_ONCE) return count;
    await pauseAfterBatch(begun);
  }
}

function discardedRow(row: Row, seal: OutboxSeal): DiscardedRow {
  const kind = String(row.kind);
  const opened = kind === "mail" ? seal.open(kind, String(row.content)) : null;
  return {
    id: String(row.id),
    kind,
    mailable: row.mailable === null ? null : String(row.mailable),
    recipients: opened === null ? null : recipientsOf(opened.value as MailMessage),
    createdAt: new Date(Number(row.created_at)),
  };
}
