import { CONFLICT_RETRIES, type Connection, type Row, sql } from "../../database/index.ts";
import type { MailRoom } from "./mail-places.ts";
import {
  databaseTime,
  isDue,
  type MailPriority,
  PRIORITIES,
  priorityOf,
  storedPriority,
  MAIL_OUTBOX_TABLE as TABLE,
} from "./outbox-table.ts";

/** A row that this process has claimed. */
export interface ClaimedRow {
  readonly id: string;
  /** `mail`, or the name of promised work. */
  readonly kind: string;
  /** Sealed. */
  readonly content: string;
  /** How often it has been tried, including this time. */
  readonly attempts: number;
  readonly priority: MailPriority;
}

/** Options of {@link OutboxClaims}. */
export interface OutboxClaimsOptions {
  /** The name of this process in its claims. */
  readonly claimant: string;
  /** How long a claim is valid unless it is renewed, in milliseconds. */
  readonly claimMs: number;
  /** Whether the table has the column `priority`. */
  readonly hasPriority: boolean;
}

/** How many rows to claim at most of one priority; `null` for all rows. */
type Share = readonly [priority: MailPriority | null, limit: number];

/** Claims rows of the outbox that are due, by priority. */
export class OutboxClaims {
  readonly #connection: Connection;
  readonly #options: OutboxClaimsOptions;

  constructor(connection: Connection, options: OutboxClaimsOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /**
   * Claims as many due rows as there is room for, those with a higher priority first.
   *
   * @param own the rows that this process is working on, so that it doesn't claim them again if its claims have expired
   */
  async claim(room: MailRoom, own: readonly string[]): Promise<ClaimedRow[]> {
    const shares = await this.#due(this.#shares(room), own);
    if (shares.length === 0) return [];
    const claim = async (): Promise<ClaimedRow[]> => {
      const ids = await this.#lock(shares, room.all, own);
      return ids.length === 0 ? [] : await this.#claim(ids);
    };
    return await this.#connection.transaction(claim, { retries: CONFLICT_RETRIES });
  }

  #shares({ all, bulk }: MailRoom): readonly Share[] {
    if (!this.#options.hasPriority) return [[null, all]];
    const shares = PRIORITIES.map((priority) => [priority, priority === "bulk" ? bulk : all] as const);
    return shares.filter(([, limit]) => limit > 0);
  }

  /**
   * The shares with rows that are due. Most of the time, nothing is due, so this is one statement that reads an index
   * for each priority and takes no lock on SQLite.
   */
  async #due(shares: readonly Share[], own: readonly string[]): Promise<readonly Share[]> {
    const { kysely } = this.#connection;
    const looks = shares.map(([priority], index) =>
      kysely
        .selectFrom(this.#rows(priority, 1, own).as(`due_${index}`))
        .select(sql<number>`${sql.lit(index)}`.as("share")),
    );
    const [first, ...others] = looks;
    if (first === undefined) return [];
    const found = await others.reduce((look, other) => look.unionAll(other), first).execute();
    const due = new Set(found.map(({ share }) => Number(share)));
    return shares.filter((_, index) => due.has(index));
  }

  async #lock(shares: readonly Share[], limit: number, own: readonly string[]): Promise<string[]> {
    const ids: string[] = [];
    for (const [priority, most] of shares) {
      const count = Math.min(most, limit - ids.length);
      if (count === 0) break;
      const due = this.#rows(priority, count, own);
      ids.push(
        ...(await this.#connection.dialect.transactions.lockRows(due, "skip").execute()).map(({ id }) => String(id)),
      );
    }
    return ids;
  }

  /** Rows that are due, the most overdue first. */
  #rows(priority: MailPriority | null, limit: number, own: readonly string[]) {
    let due = this.#connection.kysely.selectFrom(TABLE).select("id").where("failed_at", "is", null);
    if (priority !== null) due = due.where("priority", "=", sql.lit(storedPriority(priority)));
    if (own.length > 0) due = due.where("id", "not in", own);
    // This is the order of the index in any case, because its first column has the same value in all of these rows.
    if (this.#connection.dialect.values.ordersByNulls) due = due.orderBy("failed_at");
    return due.where(isDue(this.#connection)).orderBy("available_at").limit(sql.lit(limit));
  }

  async #claim(ids: readonly string[]): Promise<ClaimedRow[]> {
    const { kysely } = this.#connection;
    const { claimant, claimMs } = this.#options;
    const until = sql`${databaseTime(this.#connection)} + ${sql.lit(claimMs)}`;
    await kysely
      .updateTable(TABLE)
      .set({ claim: claimant, attempts: sql`attempts + 1`, available_at: until })
      .where("id", "in", ids)
      // Checked again, because not every database locks the rows that it reads.
      .where("failed_at", "is", null)
      .where(isDue(this.#connection))
      .execute();
    const claimed = kysely.selectFrom(TABLE).selectAll().where("id", "in", ids).where("claim", "=", claimant);
    return ((await claimed.execute()) as Row[]).map(claimedRow);
  }
}

/** Converts a row to a {@link ClaimedRow}. */
export function claimedRow({ id, kind, content, attempts, priority }: Row): ClaimedRow {
  return {
    id: String(id),
    kind: String(kind),
    content: String(content),
    attempts: Number(attempts),
    priority: priorityOf(priority),
  };
}
