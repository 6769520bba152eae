import type { Database } from "../../database/index.ts";
import type { UserId } from "../authenticatable.ts";
import { deviceName } from "./device-name.ts";
import { endAllSessions, endSession, liveSessions, type SessionId } from "./session-table.ts";

/** A device that a user is logged in on. */
export interface SessionInfo {
  /** What {@link UserSessions.end} takes. */
  readonly id: string;
  /** What to call the device: `Firefox on Windows`. */
  readonly device: string;
  /** The address it was last used from; `null` where there was no socket. */
  readonly ip: string | null;
  /** What the client called itself then. */
  readonly userAgent: string | null;
  readonly lastUsedAt: Date;
  readonly createdAt: Date;
  /** Whether it is the one that this request comes from. */
  readonly isCurrent: boolean;
}

/** Whose sessions they are. */
export interface SessionOwner {
  readonly guard: string;
  readonly database: Database;
  readonly userId: () => Promise<UserId | null>;
  /** The session that this request comes from; known once {@link SessionOwner.userId} is. */
  readonly currentId: () => SessionId | null;
  readonly logout: () => Promise<void>;
}

/**
 * The sessions of a request's user with one guard: the devices that the user is logged in on.
 *
 * A guest has none. No method reaches the sessions of anybody else.
 */
export class UserSessions {
  readonly #owner: SessionOwner;

  constructor(owner: SessionOwner) {
    this.#owner = owner;
  }

  /** The sessions that have not ended, the last used first. */
  async list(): Promise<SessionInfo[]> {
    const { guard, database, userId, currentId } = this.#owner;
    const user = await userId();
    if (user === null) return [];
    const current = currentId();
    const rows = await liveSessions(database.kysely, guard, user);
    return rows.map((row) => ({
      id: String(row.id),
      device: deviceName(row.user_agent as string | null),
      ip: row.ip as string | null,
      userAgent: row.user_agent as string | null,
      lastUsedAt: new Date(row.last_used_at as Date | string),
      createdAt: new Date(row.created_at as Date | string),
      isCurrent: current !== null && String(row.id) === String(current),
    }));
  }

  /**
   * Ends one session. The one that the request comes from is ended by a logout.
   *
   * @param id as {@link list} gives it; it may come from an input, of any type
   * @returns whether there was one, and it was the user's
   */
  async end(id: unknown): Promise<boolean> {
    const { guard, database, userId, currentId, logout } = this.#owner;
    const user = await userId();
    if (user === null || !isSessionId(id)) return false;
    if (String(id) === String(currentId())) {
      await logout();
      return true;
    }
    return endSession(database.kysely, guard, user, id);
  }

  /**
   * Ends all sessions but the one that the request comes from.
   *
   * @returns how many there were
   */
  async endOthers(): Promise<number> {
    const { guard, database, userId, currentId } = this.#owner;
    const user = await userId();
    return user === null ? 0 : endAllSessions(database, guard, user, currentId());
  }

  /**
   * Ends all sessions, and logs the user out.
   *
   * @returns how many there were
   */
  async endAll(): Promise<number> {
    const { guard, database, userId, logout } = this.#owner;
    const user = await userId();
    if (user === null) return 0;
    const ended = await endAllSessions(database, guard, user);
    await logout();
    return ended;
  }
}

/** Tells whether a value can be the key of a row: databases differ in what they make of any other. */
function isSessionId(value: unknown): value is string | number {
  return typeof value === "number"
    ? Number.isSafeInteger(value)
    : typeof value === "string" && /^\d{1,18}$/.test(value);
}
