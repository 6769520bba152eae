import type { ColumnValue, Database, QueryBuilder, Row } from "../../database/index.ts";
import { currentDate } from "../../support/index.ts";
import type { UserId } from "../authenticatable.ts";

/** The table of sessions: one row for each device that somebody is logged in on. */
export const SESSION_TABLE = "sessions";

/** The primary key of a session. */
export type SessionId = number | bigint | string;

/** A session as it is stored. Times are in milliseconds since the epoch. */
export interface StoredSession {
  readonly id: SessionId;
  /** The name of the guard it belongs to. */
  readonly guard: string;
  /** When the user last proved who he is. */
  readonly authenticatedAt: number;
  readonly lastUsedAt: number;
  /** When it ends as things stand: a use puts that off, as far as the guard lets it. */
  readonly expiresAt: number;
  readonly createdAt: number;
}

/** What is stored of a new session. */
export interface NewSession {
  readonly userId: UserId;
  readonly guard: string;
  /** The digest of the token. */
  readonly tokenHash: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly now: Date;
  readonly expiresAt: Date;
}

/** Stores a session, and gives it as it was stored. */
export type SessionInserter = (session: NewSession) => Promise<StoredSession>;

const INSERTED = [
  "user_id",
  "guard",
  "token_hash",
  "ip",
  "user_agent",
  "authenticated_at",
  "last_used_at",
  "created_at",
  "expires_at",
] as const;

/** Makes what stores new sessions. Its statement is compiled here and not at each login. */
export function sessionInserter(database: Database): SessionInserter {
  const connection = database.connection();
  const statement = connection.kysely
    .insertInto(SESSION_TABLE)
    .values(Object.fromEntries(INSERTED.map((column) => [column, ""])))
    .returning("id")
    .compile().sql;
  return async ({ userId, guard, tokenHash, ip, userAgent, now, expiresAt }) => {
    // In the order of INSERTED.
    const values: ColumnValue[] = [userId, guard, tokenHash, ip, userAgent, now, now, now, expiresAt];
    const [row] = await connection.rows(statement, values);
    const at = now.getTime();
    const id = row!.id as SessionId;
    return { id, guard, authenticatedAt: at, lastUsedAt: at, expiresAt: expiresAt.getTime(), createdAt: at };
  };
}

/** Deletes the sessions of a guard that have one of the digests. */
export async function deleteSessionsByDigest(
  kysely: QueryBuilder,
  guard: string,
  digests: readonly string[],
): Promise<void> {
  if (digests.length === 0) return;
  await kysely.deleteFrom(SESSION_TABLE).where("guard", "=", guard).where("token_hash", "in", digests).execute();
}

/** Deletes one session of a guard. */
export async function deleteSession(kysely: QueryBuilder, guard: string, id: SessionId): Promise<void> {
  await kysely.deleteFrom(SESSION_TABLE).where("guard", "=", guard).where("id", "=", id).execute();
}

/** Gives a session a new token, because its user proved anew who he is. */
export async function renewSession(
  kysely: QueryBuilder,
  id: SessionId,
  tokenHash: string,
  authenticatedAt: Date,
): Promise<void> {
  await kysely
    .updateTable(SESSION_TABLE)
    .set({ token_hash: tokenHash, authenticated_at: authenticatedAt })
    .where("id", "=", id)
    .execute();
}

/** A user's sessions that have not ended, the last used first. */
export async function liveSessions(kysely: QueryBuilder, guard: string, userId: UserId): Promise<Row[]> {
  return await kysely
    .selectFrom(SESSION_TABLE)
    .select(["id", "ip", "user_agent", "last_used_at", "created_at"])
    .where("guard", "=", guard)
    .where("user_id", "=", userId)
    .where("expires_at", ">", currentDate())
    .orderBy("last_used_at", "desc")
    .orderBy("id", "desc")
    .execute();
}

/**
 * Ends one session, provided that it is the user's.
 *
 * @returns whether it was there
 */
export async function endSession(kysely: QueryBuilder, guard: string, userId: UserId, id: SessionId): Promise<boolean> {
  const query = kysely.deleteFrom(SESSION_TABLE).where("guard", "=", guard).where("user_id", "=", userId);
  return (await query.where("id", "=", id).executeTakeFirst()).numDeletedRows > 0n;
}

/**
 * Ends the sessions of a user; as part of the transaction that is under way, where one is.
 *
 * @param guard the name of the guard whose sessions end; `null` for those of every guard, where all guards have users of
 * one class
 * @param exceptId the session that stays; all of them end where left out
 * @returns how many there were
 */
export async function endAllSessions(
  database: Pick<Database, "kysely">,
  guard: string | null,
  userId: UserId,
  exceptId: SessionId | null = null,
): Promise<number> {
  let query = database.kysely.deleteFrom(SESSION_TABLE).where("user_id", "=", userId);
  if (guard !== null) query = query.where("guard", "=", guard);
  if (exceptId !== null) query = query.where("id", "!=", exceptId);
  return Number((await query.executeTakeFirst()).numDeletedRows);
}

/**
 * Deletes the sessions that have ended; those of visitors who never came back stay until then.
 *
 * @param now the time to measure by; the current one where left out
 * @returns how many there were
 */
export async function pruneSessions(database: Database, now: Date = currentDate()): Promise<number> {
  const query = database.kysely.deleteFrom(SESSION_TABLE).where("expires_at", "<=", now);
  return Number((await query.executeTakeFirst()).numDeletedRows);
}
