import { type Connection, type Database, Model, type Row, sql } from "../../database/index.ts";
import type { MaybePromise } from "../../support/index.ts";
import type { Authenticatable, AuthenticatableClass } from "../authenticatable.ts";
import { findsByPrimaryKey } from "../authenticates.ts";
import {
  SESSION_TABLE,
  type SessionId,
  type StoredSession,
  standsBesideSessions,
  type UserModelClass,
} from "./session-table.ts";

/** Finds a session of one guard by the digest of its token, and its user. Its statements are compiled when it is made. */
export interface SessionFinder {
  /** The row of the session, if there is one, with whatever the user is made of. */
  find(tokenHash: string): MaybePromise<Row | undefined>;
  /** The session's user. Called at most once for a row, which it may use up. */
  userOf(row: Row): MaybePromise<Authenticatable | null>;
}

/**
 * Makes the finder for a guard, by its name: session and user in one query, if the user is a model whose table stands
 * beside that of the sessions and that is found by its primary key and nothing else; in two queries otherwise.
 */
export function sessionFinder(database: Database, guard: string, model: AuthenticatableClass): SessionFinder {
  const connection = database.connection();
  return isJoinable(database, model)
    ? new JoinedFinder(connection, guard, model)
    : new SeparateFinder(connection, guard, model);
}

function isJoinable(database: Database, model: AuthenticatableClass): model is UserModelClass {
  if (!standsBesideSessions(database, model)) return false;
  // A class that finds its users in its own way, to leave out those who are banned, say, must be asked.
  return findsByPrimaryKey(model) && model.find === Model.find && model.fromRow === Model.fromRow;
}

const COLUMNS = ["id", "access_epoch", "authenticated_at", "last_used_at", "expires_at", "created_at"] as const;

/** A session's columns, under names of their own, since they may stand beside a user's. */
const SELECTED = COLUMNS.map((column) => `${SESSION_TABLE}.${column} as __session_${column}` as const);

/**
 * What a row that a {@link SessionFinder} found says of the session. On the path of every page, most of its times are never
 * asked for: they are read when they are.
 */
export class FoundSession implements StoredSession {
  readonly id: SessionId;
  readonly accessEpoch: string | null;
  readonly #authenticatedAt: unknown;
  readonly #lastUsedAt: unknown;
  readonly #expiresAt: unknown;
  readonly #createdAt: unknown;

  constructor(row: Row) {
    this.id = row.__session_id as SessionId;
    this.accessEpoch = row.__session_access_epoch as string | null;
    this.#authenticatedAt = row.__session_authenticated_at;
    this.#lastUsedAt = row.__session_last_used_at;
    this.#expiresAt = row.__session_expires_at;
    this.#createdAt = row.__session_created_at;
  }

  get authenticatedAt(): number {
    return milliseconds(this.#authenticatedAt);
  }

  get lastUsedAt(): number {
    return milliseconds(this.#lastUsedAt);
  }

  get expiresAt(): number {
    return milliseconds(this.#expiresAt);
  }

  get createdAt(): number {
    return milliseconds(this.#createdAt);
  }
}

class JoinedFinder implements SessionFinder {
  readonly #connection: Connection;
  readonly #model: UserModelClass;
  readonly #statement: string;

  constructor(connection: Connection, guard: string, model: UserModelClass) {
    this.#connection = connection;
    this.#model = model;
    const { table, primaryKey } = model;
    this.#statement = connection.kysely
      .selectFrom(SESSION_TABLE)
      .innerJoin(table, `${table}.${primaryKey}`, `${SESSION_TABLE}.user_id`)
      .selectAll(table)
      .select(SELECTED)
      .where(`${SESSION_TABLE}.token_hash`, "=", "")
      .where(`${SESSION_TABLE}.guard`, "=", sql.lit(guard))
      .compile().sql;
  }

  find(tokenHash: string): MaybePromise<Row | undefined> {
    return this.#connection.first(this.#statement, tokenHash);
  }

  userOf(row: Row): Authenticatable {
    delete row.__session_id;
    delete row.__session_access_epoch;
    delete row.__session_authenticated_at;
    delete row.__session_last_used_at;
    delete row.__session_expires_at;
    delete row.__session_created_at;
    return this.#model.fromRow(row);
  }
}

class SeparateFinder implements SessionFinder {
  readonly #connection: Connection;
  readonly #model: AuthenticatableClass;
  readonly #statement: string;

  constructor(connection: Connection, guard: string, model: AuthenticatableClass) {
    this.#connection = connection;
    this.#model = model;
    this.#statement = connection.kysely
      .selectFrom(SESSION_TABLE)
      .select([...SELECTED, "user_id"])
      .where("token_hash", "=", "")
      .where("guard", "=", sql.lit(guard))
      .compile().sql;
  }

  find(tokenHash: string): MaybePromise<Row | undefined> {
    return this.#connection.first(this.#statement, tokenHash);
  }

  async userOf({ user_id }: Row): Promise<Authenticatable | null> {
    const user = await this.#model.findByAuthId(user_id as SessionId);
    // Whatever a class makes of a key, nobody gets a session that is another's.
    return user !== null && String(user.authId()) === String(user_id) ? user : null;
  }
}

function milliseconds(time: unknown): number {
  return time instanceof Date ? time.getTime() : Date.parse(time as string);
}
