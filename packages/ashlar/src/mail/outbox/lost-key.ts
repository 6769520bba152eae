import { type Connection, visitInBatches } from "../../database/index.ts";
import type { OutboxSeal } from "./outbox-seal.ts";
import { MAIL_OUTBOX_TABLE as TABLE } from "./outbox-table.ts";

/** How many rows are opened, the oldest ones: those that were sealed with a key that is gone are among them. */
const OPENED = 2000;

/**
 * Why rows can't be opened, and what brings them back.
 *
 * @param count how many rows
 */
export function lostKey(count: number): string {
  return `APP_KEY has been replaced, and APP_PREVIOUS_KEYS lacks the key that sealed ${count === 1 ? "it" : "them"}`;
}

/**
 * Counts the rows of the outbox, waiting or given up, that none of the application's keys opens, among the oldest 2,000. Each has
 * to be tried: nothing in a row says which key sealed it.
 */
export async function countLost(connection: Connection, seal: OutboxSeal): Promise<number> {
  let [opened, lost] = [0, 0];
  const enough = new AbortController();
  const table = { kysely: connection.kysely, table: TABLE, key: "id" };
  const visit = async (rows: readonly Readonly<Record<string, unknown>>[]): Promise<void> => {
    opened += rows.length;
    lost += rows.filter(({ kind, content }) => seal.open(String(kind), String(content)) === null).length;
    if (opened >= OPENED) enough.abort();
  };
  await visitInBatches(table, ["kind", "content"], visit, enough.signal);
  return lost;
}
