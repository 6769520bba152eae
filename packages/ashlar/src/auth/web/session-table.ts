import {
  type Database,
  deleteInBatches,
  type Model,
  type ModelClass,
  type QueryBuilder,
  type Row,
} from "../../database/index.ts";
import { currentDate } from "../../support/index.ts";
import { accessEpochOf } from "../access-epoch.ts";
import type { Authenticatable, AuthenticatableClass, UserId } from "../authenticatable.ts";
import { isModel } from "../users-of.ts";

/** The table of sessions: one row for each device that somebody is logged in on. */
export const SESSION_TABLE = "sessions";

/** The primary key of a session. */
export type SessionId = number | bigint | string;

/** A session as it is stored. Times are in milliseconds since the epoch. */
export interface StoredSession {
  readonly id: SessionId;
  /** The access epoch of its user when it began, or was taken on: it is void once the user's is another. */
  readonly accessEpoch: string | null;
  /** When the user last proved the password; 0 for never. */
  readonly authenticatedAt: number;
  readonly lastUsedAt: number;
  /** When it ends as things stand: a use puts that off, as far as the guard lets it. */
  readonly expiresAt: number;
  readonly createdAt: number;
}

/** A class of users who are rows. */
export type UserModelClass = ModelClass<Model & Authenticatable> & AuthenticatableClass;

/** Whether a class keeps its users in a table beside that of the sessions, so that one statement can reach both. */
export function standsBesideSessions(database: Database, model: AuthenticatableClass): model is UserModelClass {
  return isModel(model) && (model.connection === null || model.connection === database.configuration.default);
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

/** Deletes one session. */
export async function deleteSession(kysely: QueryBuilder, id: SessionId): Promise<void> {
  await kysely.deleteFrom(SESSION_TABLE).where("id", "=", id).execute();
}

/** A user's sessions that have not ended, the last used first. */
export async function liveSessions(kysely: QueryBuilder, guard: string, user: Authenticatable): Promise<Row[]> {
  return kysely
    .selectFrom(SESSION_TABLE)
    .select(["id", "ip", "user_agent", "last_used_at", "created_at"])
    .where("guard", "=", guard)
    .where("user_id", "=", user.authId())
    .where("access_epoch", "=", accessEpochOf(user))
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

/** Lets a session go on under the new access epoch of its user, who changed it from there. */
export async function takeSessionOn(
  database: Pick<Database, "kysely">,
  id: SessionId,
  accessEpoch: string,
): Promise<void> {
  await database.kysely.updateTable(SESSION_TABLE).set({ access_epoch: accessEpoch }).where("id", "=", id).execute();
}

/**
 * Deletes the sessions that have ended, a few at a time; those of visitors who never came back stay until then.
 *
 * @param now the time to measure by; the current one where left out
 * @param signal stops it after the batch at hand
 * @returns how many there were
 */
export async function pruneSessions(
  database: Database,
  now: Date = currentDate(),
  signal?: AbortSignal,
): Promise<number> {
  const sessions = { kysely: database.kysely, table: SESSION_TABLE, key: "id" };
  return deleteInBatches(sessions, (is) => is("expires_at", "<=", now), signal);
}
