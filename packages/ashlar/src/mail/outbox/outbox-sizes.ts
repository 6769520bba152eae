import { type Connection, type Expression, type Row, sql } from "../../database/index.ts";
import {
  databaseTime,
  type MailPriority,
  PRIORITIES,
  storedPriority,
  MAIL_OUTBOX_TABLE as TABLE,
} from "./outbox-table.ts";

/** The contents of the outbox, counted up to a bound. */
export interface MailSizes {
  /** How many mails are waiting or being sent: up to 10,000 of each priority. */
  readonly waiting: number;
  /** How many were abandoned: up to 10,000. */
  readonly failed: number;
  /**
   * How many seconds ago the oldest waiting mail was queued, by priority; 0 if none is waiting. If there are more than
   * 10,000, it is the oldest of those that were counted, which the database reads in the order of the index or the
   * table.
   */
  readonly oldestSeconds: Readonly<Record<MailPriority, number>>;
}

/** The maximum number of rows to count, by kind. Otherwise, a large table would be read completely every few seconds. */
const COUNTED = 10_000;

/**
 * Counts the outbox's rows for statistics, in one statement that reads only an index, and only up to the bound.
 *
 * @param hasPriority whether the table has the column `priority`; if not, all rows are ordinary
 */
export async function outboxSizes(connection: Connection, hasPriority: boolean): Promise<MailSizes> {
  const { kysely } = connection;
  const part = (name: string, rows: Expression<unknown>) =>
    kysely
      .selectFrom(sql<{ at: number }>`${rows}`.as(name))
      .select((is) => [
        sql<string>`${sql.lit(name)}`.as("name"),
        is.fn.countAll().as("count"),
        sql`${databaseTime(connection)} - min(at)`.as("age"),
      ]);
  const rows = kysely.selectFrom(TABLE).limit(sql.lit(COUNTED));
  const waiting = rows.select("created_at as at").where("failed_at", "is", null);
  let look = part("failed", rows.select("failed_at as at").where("failed_at", "is not", null).orderBy("failed_at"));
  for (const priority of hasPriority ? PRIORITIES : (["ordinary"] as const)) {
    const own = hasPriority ? waiting.where("priority", "=", sql.lit(storedPriority(priority))) : waiting;
    look = look.unionAll(part(priority, own));
  }
  const found = new Map(((await look.execute()) as Row[]).map((row) => [String(row.name), row]));
  const countOf = (name: string): number => Number(found.get(name)?.count ?? 0);
  const ageOf = (name: string): number => Math.max(0, Number(found.get(name)?.age ?? 0)) / 1000;
  return {
    waiting: PRIORITIES.reduce((sum, priority) => sum + countOf(priority), 0),
    failed: countOf("failed"),
    oldestSeconds: { account: ageOf("account"), ordinary: ageOf("ordinary"), bulk: ageOf("bulk") },
  };
}
