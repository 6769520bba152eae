import type { Database } from "../../database/index.ts";
import { accessEpochOf, staleProof } from "../access-epoch.ts";
import type { Authenticatable } from "../authenticatable.ts";
import { endAllAccess, rotateAccess } from "../rotate-access.ts";
import { deviceName } from "./device-name.ts";
import { endAllSessions, endSession, liveSessions, type SessionId, takeSessionOn } from "./session-table.ts";

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
  readonly user: () => Promise<Authenticatable | null>;
  /** The session that this request comes from; known once {@link SessionOwner.user} is. */
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
    const { guard, database, currentId } = this.#owner;
    const user = await this.#owner.user();
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
      isCurrent: String(row.id) === String(current),
    }));
  }

  /**
   * Ends one session. The one that the request comes from is ended by a logout.
   *
   * @param id as {@link list} gives it; it may come from an input, of any type
   * @returns whether there was one, and it was the user's
   */
  async end(id: unknown): Promise<boolean> {
    const { guard, database, currentId, logout } = this.#owner;
    const user = await this.#owner.user();
    if (user === null || !isSessionId(id)) return false;
    if (String(id) === String(currentId())) {
      await logout();
      return true;
    }
    return endSession(database.kysely, guard, user.authId(), id);
  }

  /**
   * Ends all sessions but the one that the request comes from, and with them all other access to the account: links in
   * mails, and the API token where that is checked in the database.
   *
   * @returns how many sessions there were
   * @throws `E_STALE_PROOF` where the session that the request comes from was itself ended in the meantime
   */
  async endOthers(): Promise<number> {
    const user = await this.#owner.user();
    if (user === null) return 0;
    return this.#owner.database.transaction(async () => {
      if (!(await rotateAccess(user))) throw staleProof();
      return this.keepCurrent();
    });
  }

  /**
   * Ends all sessions but the one that the request comes from, which goes on under the user's access epoch as it is now:
   * for what has changed that on the user of this request. As part of the transaction that is under way, where one is.
   *
   * @returns how many there were
   */
  async keepCurrent(): Promise<number> {
    const { guard, database, currentId } = this.#owner;
    const user = await this.#owner.user();
    if (user === null) return 0;
    const current = currentId();
    if (current !== null) await takeSessionOn(database, current, accessEpochOf(user));
    return endAllSessions(database, guard, user.authId(), current);
  }

  /**
   * Ends all sessions and all other access to the account, and logs the user out.
   *
   * @returns how many sessions there were
   */
  async endAll(): Promise<number> {
    const { guard, database, logout } = this.#owner;
    const user = await this.#owner.user();
    if (user === null) return 0;
    const ended = await database.transaction(async () => {
      await endAllAccess(user);
      return endAllSessions(database, guard, user.authId());
    });
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
