import {
  type Connection,
  deleteInBatches,
  type Expression,
  type Row,
  type SqlBool,
  sql,
} from "../../database/index.ts";
import { withoutAddresses } from "../message/masked-addresses.ts";
import type { MailRoom } from "./mail-places.ts";
import { type ClaimedRow, claimedRow, OutboxClaims, type OutboxClaimsOptions } from "./outbox-claims.ts";
import { type MailSizes, outboxSizes } from "./outbox-sizes.ts";
import { databaseTime, type MailPriority, storedPriority, MAIL_OUTBOX_TABLE as TABLE } from "./outbox-table.ts";
import type { ServerState } from "./server-outage.ts";

/** A row that was abandoned. */
export interface FailedRow extends ClaimedRow {
  /** The name of the mail's class; `null` if there is no mail yet. */
  readonly mailable: string | null;
  readonly createdAt: Date;
  readonly failedAt: Date;
  readonly reason: string;
}

/** A row to be written. */
export interface NewRow extends Pick<ClaimedRow, "kind" | "content"> {
  readonly mailable: string | null;
  readonly priority: MailPriority;
}

/** The new state of a row whose attempt failed; `lost` if another process has taken it over. */
export type Postponement = "postponed" | "failed" | "lost";

/** Options of {@link OutboxRows}. */
export interface OutboxRowsOptions extends OutboxClaimsOptions {
  /** How long a row is retried, in milliseconds. */
  readonly retryMs: number;
}

/** The longest reason that fits into the table, in characters. */
const MAX_REASON_LENGTH = 500;
/** The maximum number of ids in a statement, because PostgreSQL allows only 65,535 parameters. */
const MAX_IDS = 1000;

/**
 * The outbox's rows. One process claims a row and works on it, and then deletes, postpones or abandons it. Claims
 * expire, in case the process has died.
 *
 * Conditional updates decide which process gets a claim. Times come from the database's clock, because the processes'
 * clocks may differ.
 */
export class OutboxRows {
  readonly connection: Connection;
  readonly #options: OutboxRowsOptions;
  readonly #claims: OutboxClaims;

  constructor(connection: Connection, options: OutboxRowsOptions) {
    this.connection = connection;
    this.#options = options;
    this.#claims = new OutboxClaims(connection, options);
  }

  /**
   * Stores a row, and returns its id. Takes part in the current transaction, if there is one. This process claims the
   * row at once, unless it is a bulk mail, which any process claims when it has room.
   */
  async insert({ kind, mailable, content, priority }: NewRow): Promise<string> {
    const { claimant, claimMs, retryMs, hasPriority } = this.#options;
    const at = this.#time;
    const isClaimed = priority !== "bulk";
    const values = {
      kind,
      mailable,
      content,
      ...(hasPriority && { priority: storedPriority(priority) }),
      claim: isClaimed ? claimant : null,
      attempts: isClaimed ? 1 : 0,
      created_at: at,
      available_at: isClaimed ? sql`${at} + ${sql.lit(claimMs)}` : at,
      retry_until: sql`${at} + ${sql.lit(retryMs)}`,
    };
    const [row] = await this.connection.writes.insert({ table: TABLE, values, returning: ["id"] })({});
    return String(row!.id);
  }

  /** Claims rows that are due; see {@link OutboxClaims.claim}. */
  claim(room: MailRoom, own: readonly string[]): Promise<ClaimedRow[]> {
    return this.#claims.claim(room, own);
  }

  /** Extends the claims on rows, and returns the ids of those that are still claimed by this process. */
  async renew(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const { kysely } = this.connection;
    const { claimant, claimMs } = this.#options;
    const renewed = new Set<string>();
    for (const some of inParts(ids)) {
      await kysely
        .updateTable(TABLE)
        .set({ available_at: sql`${this.#time} + ${sql.lit(claimMs)}` })
        .where("id", "in", some)
        .where("claim", "=", claimant)
        .execute();
      const held = kysely.selectFrom(TABLE).select("id").where("id", "in", some).where("claim", "=", claimant);
      for (const { id } of await held.execute()) renewed.add(String(id));
    }
    return renewed;
  }

  /** Deletes a row that is done. Returns whether it was still claimed by this process. */
  async finish(id: string): Promise<boolean> {
    const query = this.connection.kysely.deleteFrom(TABLE).where("id", "=", id);
    const { numDeletedRows } = await query.where("claim", "=", this.#options.claimant).executeTakeFirst();
    return numDeletedRows > 0n;
  }

  /** Releases a row for another attempt after a pause, or abandons it if its time is up by then. */
  async postpone(id: string, reason: string, pauseMs: number): Promise<Postponement> {
    const next = sql`${this.#time} + ${sql.lit(Math.ceil(pauseMs))}`;
    return this.#end(id, reason, {
      available_at: next,
      failed_at: sql`case when ${next} >= retry_until then ${this.#time} end`,
    });
  }

  /** Abandons a row. */
  async fail(id: string, reason: string): Promise<Postponement> {
    return this.#end(id, reason, { failed_at: this.#time });
  }

  /** Releases rows, so that other processes can claim them immediately. */
  async release(ids: readonly string[]): Promise<void> {
    for (const some of inParts(ids)) {
      await this.connection.kysely
        .updateTable(TABLE)
        .set({ claim: null, available_at: this.#time, attempts: sql`attempts - 1` })
        .where("id", "in", some)
        .where("claim", "=", this.#options.claimant)
        .execute();
    }
  }

  /** The abandoned rows, oldest first. */
  async failed(limit: number): Promise<FailedRow[]> {
    const query = this.connection.kysely.selectFrom(TABLE).selectAll().where("failed_at", "is not", null);
    return ((await query.orderBy("id").limit(limit).execute()) as Row[]).map((row) => ({
      ...claimedRow(row),
      mailable: row.mailable === null ? null : String(row.mailable),
      createdAt: new Date(Number(row.created_at)),
      failedAt: new Date(Number(row.failed_at)),
      reason: String(row.reason),
    }));
  }

  /**
   * Makes abandoned rows due again.
   *
   * @param ids the rows; `null` for all
   * @returns how many
   */
  async retry(ids: readonly string[] | null): Promise<number> {
    const at = this.#time;
    const query = this.connection.kysely
      .updateTable(TABLE)
      .set({
        failed_at: null,
        available_at: at,
        attempts: 0,
        retry_until: sql`${at} + ${sql.lit(this.#options.retryMs)}`,
      })
      .where("failed_at", "is not", null);
    const chosen = ids === null ? query : query.where("id", "in", ids);
    return Number((await chosen.executeTakeFirst()).numUpdatedRows);
  }

  /** Makes all rows due that are waiting for their next attempt. Returns how many. */
  async hurry(): Promise<number> {
    const at = this.#time;
    const query = this.connection.kysely.updateTable(TABLE).set({ available_at: at });
    const waiting = query.where("failed_at", "is", null).where("claim", "is", null);
    return Number((await waiting.where(sql<SqlBool>`available_at > ${at}`).executeTakeFirst()).numUpdatedRows);
  }

  /** The contents of the table, for statistics. */
  sizes(): Promise<MailSizes> {
    return outboxSizes(this.connection, this.#options.hasPriority);
  }

  /** How many rows are waiting or being sent, and how many were abandoned. */
  async counts(): Promise<{ readonly waiting: number; readonly failed: number }> {
    const [row] = (await this.connection.kysely
      .selectFrom(TABLE)
      .select((is) => [is.fn.countAll().as("all_rows"), is.fn.count("failed_at").as("failed_rows")])
      .execute()) as Row[];
    const [all, failed] = [Number(row!.all_rows), Number(row!.failed_rows)];
    return { waiting: all - failed, failed };
  }

  /** Deletes rows that were abandoned longer ago than `ageMs`. Returns how many. */
  async prune(ageMs: number, signal?: AbortSignal): Promise<number> {
    const table = { kysely: this.connection.kysely, table: TABLE, key: "id" };
    return deleteInBatches(table, () => sql<SqlBool>`failed_at <= ${this.#time} - ${sql.lit(ageMs)}`, signal);
  }

  async #end(id: string, reason: string, values: Readonly<Record<string, unknown>>): Promise<Postponement> {
    const { kysely } = this.connection;
    const { numUpdatedRows } = await kysely
      .updateTable(TABLE)
      // Security: unlike the content, the reason isn't sealed, and a server's response often repeats the recipient.
      .set({ ...values, claim: null, reason: withoutAddresses(reason).slice(0, MAX_REASON_LENGTH) })
      .where("id", "=", id)
      .where("claim", "=", this.#options.claimant)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return "lost";
    const row = await kysely.selectFrom(TABLE).select("failed_at").where("id", "=", id).executeTakeFirst();
    return row !== undefined && row.failed_at !== null ? "failed" : "postponed";
  }

  get #time(): Expression<number> {
    return databaseTime(this.connection);
  }
}

function inParts(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / MAX_IDS);
  return Array.from({ length: count }, (_, n) => ids.slice(n * MAX_IDS, (n + 1) * MAX_IDS));
}

/** The result of work on a row. */
export interface RowResult {
  /** The time until the row is due again, in milliseconds; `null` if it is done or abandoned. */
  readonly pauseMs: number | null;
  /** Whether the attempt reached the mail server. */
  readonly server: ServerState;
}

/**
 * Works on a claimed row.
 *
 * @param signal is aborted when the application shuts down, or when another process has taken the row over
 */
export type RowWork = (signal: AbortSignal) => Promise<RowResult>;
