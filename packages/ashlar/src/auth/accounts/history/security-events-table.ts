import { type BatchTable, type Database, dateOf, hasTable, type Row, visitInBatches } from "../../../database/index.ts";
import type { UserId } from "../../users/authenticatable.ts";

/** The table of what has happened to accounts. */
export const SECURITY_EVENTS_TABLE = "security_events";
const TABLE = SECURITY_EVENTS_TABLE;

/** How many events of an account are kept, separately for failed logins, so that guesses don't push out the others. */
export const MAX_PER_USER = 100;
/** The event that strangers can cause without limit. */
const GUESS = "auth.failed";

/** An event to be stored. */
export interface NewSecurityEvent {
  readonly user_id: UserId;
  readonly guard: string;
  readonly event: string;
  readonly ip: string | null;
  readonly user_agent: string | null;
  /** JSON. */
  readonly details: string;
  readonly created_at: Date;
}

/** An event of an account. */
export interface StoredSecurityEvent {
  readonly id: string;
  readonly guard: string;
  readonly event: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly details: Readonly<Record<string, string | number>>;
  readonly createdAt: Date;
}

/** Which events are read: the newest, or those on one side of another one. */
export interface EventRange {
  readonly limit: number;
  readonly olderThan?: string | null;
  readonly newerThan?: string | null;
}

/** The table `security_events`: what has happened to accounts, for their owners. An application may not have it. */
export class SecurityEventsTable {
  readonly #database: () => Database;
  /** Whether the application has the table; `null` before anyone has looked. */
  #isThere: boolean | null = null;

  constructor(database: () => Database) {
    this.#database = database;
  }

  /** Reports whether the application has the table, and looks again for a missing one. */
  async exists(): Promise<boolean> {
    if (this.#isThere !== true) this.#isThere = await hasTable(this.#database(), TABLE);
    return this.#isThere;
  }

  /** Reports whether the application had the table when it was last looked for, at startup or by {@link exists}. */
  async wasThere(): Promise<boolean> {
    return this.#isThere ?? this.exists();
  }

  /** Stores events, in one statement. */
  async record(events: readonly NewSecurityEvent[]): Promise<void> {
    await this.#database()
      .kysely.insertInto(TABLE)
      .values([...events])
      .execute();
  }

  /** Deletes the oldest events of an account, as far as there are more than are kept. */
  async trim(guard: string, userId: UserId): Promise<void> {
    const { kysely } = this.#database();
    for (const is of ["=", "!="] as const) {
      const last = await kysely
        .selectFrom(TABLE)
        .select("id")
        .where("user_id", "=", userId)
        .where("guard", "=", guard)
        .where("event", is, GUESS)
        .orderBy("id", "desc")
        .offset(MAX_PER_USER)
        .limit(1)
        .executeTakeFirst();
      if (last === undefined) continue;
      const old = kysely.deleteFrom(TABLE).where("user_id", "=", userId).where("guard", "=", guard);
      await old.where("event", is, GUESS).where("id", "<=", last.id).execute();
    }
  }

  /** A part of an account's events, newest first. */
  async list(guards: readonly string[], userId: UserId, range: EventRange): Promise<readonly StoredSecurityEvent[]> {
    const { limit, olderThan = null, newerThan = null } = range;
    if (guards.length === 0 || !(await this.exists())) return [];
    let query = this.#database()
      .kysely.selectFrom(TABLE)
      .select(["id", "guard", "event", "ip", "user_agent", "details", "created_at"])
      .where("user_id", "=", userId)
      .where("guard", "in", guards);
    if (olderThan !== null) query = query.where("id", "<", olderThan);
    if (newerThan !== null) query = query.where("id", ">", newerThan);
    const rows = (await query
      .orderBy("id", newerThan === null ? "desc" : "asc")
      .limit(limit)
      .execute()) as Row[];
    const events = rows.map(eventOf);
    return newerThan === null ? events : events.reverse();
  }

  /** All events of an account, for an export. */
  async export(guards: readonly string[], userId: UserId): Promise<readonly Row[]> {
    const events = await this.list(guards, userId, { limit: Number.MAX_SAFE_INTEGER });
    return events.map(({ guard, event, ip, userAgent, details, createdAt }) => {
      return { guard, event, ip, user_agent: userAgent, ...details, created_at: createdAt };
    });
  }

  /**
   * Empties the addresses and user agents of events that happened at or before a time.
   *
   * @param signal stops it after the current batch
   * @returns how many events had any
   */
  async forgetAddresses(before: Date, signal?: AbortSignal): Promise<number> {
    const rows = await this.rows();
    if (rows === null) return 0;
    let forgotten = 0;
    const visit = async (batch: readonly Row[]): Promise<void> => {
      const old = batch.filter(
        (row) => (row.ip !== null || row.user_agent !== null) && dateOf(row.created_at) <= before,
      );
      if (old.length === 0) return;
      const keys = old.map(({ id }) => id);
      await rows.kysely.updateTable(TABLE).set({ ip: null, user_agent: null }).where("id", "in", keys).execute();
      forgotten += keys.length;
    };
    await visitInBatches(rows, ["ip", "user_agent", "created_at"], visit, signal);
    return forgotten;
  }

  /** Deletes the events of an account. Takes part in the current transaction, if there is one. */
  async delete(guards: readonly string[], userId: UserId): Promise<void> {
    if (guards.length === 0 || !(await this.exists())) return;
    const all = this.#database().kysely.deleteFrom(TABLE).where("user_id", "=", userId);
    await all.where("guard", "in", guards).execute();
  }

  /** The table, for going through its rows; `null` if the application has no such table. */
  async rows(): Promise<BatchTable | null> {
    return (await this.exists()) ? { kysely: this.#database().kysely, table: TABLE, key: "id" } : null;
  }
}

function eventOf(row: Row): StoredSecurityEvent {
  return {
    id: String(row.id),
    guard: String(row.guard),
    event: String(row.event),
    ip: textOf(row.ip),
    userAgent: textOf(row.user_agent),
    details: JSON.parse(String(row.details)) as StoredSecurityEvent["details"],
    createdAt: dateOf(row.created_at),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
