import { type Connection, visitInBatches } from "../../database/index.ts";
import type { OutboxSeal } from "./outbox-seal.ts";
import { MAIL_OUTBOX_TABLE as TABLE } from "./outbox-table.ts";

/** How many of the oldest rows are opened. Rows that were sealed with a lost key are among the oldest. */
const OPENED = 2000;

/**
 * The reason why rows can't be opened, and how to recover them.
 *
 * @param count how many rows
 */
export function lostKey(count: number): string {
  return `APP_KEY has been replaced, and APP_PREVIOUS_KEYS lacks the key that sealed ${count === 1 ? "it" : "them"}`;
}

/**
 * Counts the outbox's rows, waiting or abandoned, that none of the application's keys can open, among the oldest 2,000.
 * Each row has to be tried, because it doesn't say which key sealed it.
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
