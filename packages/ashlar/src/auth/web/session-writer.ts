import { type ColumnValue, type Connection, type Database, sql } from "../../database/index.ts";
import { type AccessConditions, type AccessHolder, accessEpochOf, holdsAccess, readAgain } from "../access-epoch.ts";
import type { Authenticatable, AuthenticatableClass, UserId } from "../authenticatable.ts";
import {
  SESSION_TABLE,
  type SessionId,
  type StoredSession,
  standsBesideSessions,
  type UserModelClass,
} from "./session-table.ts";

/** What is stored of a new session, beyond whose it is. */
export interface NewSession {
  readonly guard: string;
  /** The digest of the token. */
  readonly tokenHash: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly now: Date;
  readonly expiresAt: Date;
  /** Whether the user has just proved the password. */
  readonly passwordConfirmed: boolean;
}

/** What stands for a password that was never proved: the column takes no `null`. */
const NEVER = new Date(0);

/**
 * Writes sessions on the strength of a proof that was given for a user as it was read. Nothing is written once the user's
 * row is gone, or access to the account has ended since: a login, or a confirmation, that was under way does not survive
 * a reset of the password.
 */
export interface SessionWriter {
  /** Stores a session, and gives it as it was stored; `null` where the proof holds no more. */
  insert(user: Authenticatable, session: NewSession): Promise<StoredSession | null>;
  /**
   * Gives a session a new token, because its user gave the password again.
   *
   * @returns whether the proof still held, and the session was there
   */
  renew(user: Authenticatable, id: SessionId, tokenHash: string, authenticatedAt: Date): Promise<boolean>;
}

/** Makes the writer for a guard. The statements that a login takes are compiled once, not at each login. */
export function sessionWriter(database: Database, model: AuthenticatableClass): SessionWriter {
  const connection = database.connection();
  return isConditional(database, model)
    ? new ConditionalWriter(connection, model)
    : new ComparingWriter(connection, model);
}

function isConditional(database: Database, model: AuthenticatableClass): model is UserModelClass {
  return standsBesideSessions(database, model) && holdsAccess(model.prototype);
}

const INSERTED = [
  "user_id",
  "guard",
  "token_hash",
  "access_epoch",
  "ip",
  "user_agent",
  "authenticated_at",
  "last_used_at",
  "created_at",
  "expires_at",
] as const;

/** In the order of {@link INSERTED}. */
function valuesOf(userId: UserId, accessEpoch: string, session: NewSession): ColumnValue[] {
  const { guard, tokenHash, ip, userAgent, now, expiresAt } = session;
  return [userId, guard, tokenHash, accessEpoch, ip, userAgent, authenticatedAt(session), now, now, expiresAt];
}

function authenticatedAt({ passwordConfirmed, now }: NewSession): Date {
  return passwordConfirmed ? now : NEVER;
}

function stored(id: unknown, accessEpoch: string, session: NewSession): StoredSession {
  const { now, expiresAt } = session;
  const at = now.getTime();
  return {
    id: id as SessionId,
    accessEpoch,
    authenticatedAt: authenticatedAt(session).getTime(),
    lastUsedAt: at,
    expiresAt: expiresAt.getTime(),
    createdAt: at,
  };
}

/** For users in a table beside that of the sessions: one statement asks whether the proof holds, and writes. */
class ConditionalWriter implements SessionWriter {
  readonly #connection: Connection;
  readonly #table: string;
  readonly #primaryKey: string;
  /** By the columns that the proof rests on: the epoch, or where there is none, what stands for it. */
  readonly #inserts = new Map<string, string>();

  constructor(connection: Connection, model: UserModelClass) {
    this.#connection = connection;
    this.#table = model.table;
    this.#primaryKey = model.primaryKey;
  }

  async insert(user: Authenticatable, session: NewSession): Promise<StoredSession | null> {
    const conditions = conditionsOf(user);
    const accessEpoch = accessEpochOf(user);
    const values = valuesOf(user.authId(), accessEpoch, session);
    const parameters = [...values, user.authId(), ...Object.values(conditions)];
    const [row] = await this.#connection.rows(this.#insertOn(conditions), parameters);
    return row === undefined ? null : stored(row.id, accessEpoch, session);
  }

  async renew(user: Authenticatable, id: SessionId, tokenHash: string, authenticatedAt: Date): Promise<boolean> {
    const { numUpdatedRows } = await this.#connection.kysely
      .updateTable(SESSION_TABLE)
      .set({ token_hash: tokenHash, authenticated_at: authenticatedAt })
      .where("id", "=", id)
      .where("access_epoch", "=", accessEpochOf(user))
      .where(({ exists }) => exists(this.#userWith(user.authId(), conditionsOf(user))))
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  #insertOn(conditions: AccessConditions): string {
    const key = Object.keys(conditions).join();
    let statement = this.#inserts.get(key);
    if (statement === undefined) {
      const values = INSERTED.map((column) => sql`${""}`.as(column));
      statement = this.#connection.kysely
        .insertInto(SESSION_TABLE)
        .columns(INSERTED)
        .expression(this.#lockedUserWith(conditions).clearSelect().select(values))
        .returning("id")
        .compile().sql;
      this.#inserts.set(key, statement);
    }
    return statement;
  }

  /**
   * PostgreSQL must be told to wait for a deletion of the user that is under way, or it would insert by the row as it was.
   */
  #lockedUserWith(conditions: AccessConditions) {
    const query = this.#userWith("", conditions);
    return this.#connection.dialect === "postgres" ? query.forKeyShare() : query;
  }

  /** A query for the user's row, as the proof needs it. */
  #userWith(id: UserId, conditions: AccessConditions) {
    let query = this.#connection.kysely
      .selectFrom(this.#table)
      .select(this.#primaryKey)
      .where(this.#primaryKey, "=", id);
    // Written so that `null` is a parameter as well, and compares as equal.
    for (const [column, value] of Object.entries(conditions))
      query = query.where(column, "is not distinct from", value);
    return query;
  }
}

/** For users of any other class, or elsewhere: what was written is taken back where the proof turns out not to hold. */
class ComparingWriter implements SessionWriter {
  readonly #connection: Connection;
  readonly #model: AuthenticatableClass;
  readonly #statement: string;

  constructor(connection: Connection, model: AuthenticatableClass) {
    this.#connection = connection;
    this.#model = model;
    this.#statement = connection.kysely
      .insertInto(SESSION_TABLE)
      .values(Object.fromEntries(INSERTED.map((column) => [column, ""])))
      .returning("id")
      .compile().sql;
  }

  async insert(user: Authenticatable, session: NewSession): Promise<StoredSession | null> {
    const accessEpoch = accessEpochOf(user);
    const [row] = await this.#connection.rows(this.#statement, valuesOf(user.authId(), accessEpoch, session));
    const id = row!.id as SessionId;
    if (await this.#holds(user)) return stored(id, accessEpoch, session);
    await this.#connection.kysely.deleteFrom(SESSION_TABLE).where("id", "=", id).execute();
    return null;
  }

  async renew(user: Authenticatable, id: SessionId, tokenHash: string, authenticatedAt: Date): Promise<boolean> {
    const { numUpdatedRows } = await this.#connection.kysely
      .updateTable(SESSION_TABLE)
      .set({ token_hash: tokenHash, authenticated_at: authenticatedAt })
      .where("id", "=", id)
      .where("access_epoch", "=", accessEpochOf(user))
      .executeTakeFirst();
    // A session carries the epoch it began in, so what was renewed in vain is void in any case.
    return numUpdatedRows > 0n && this.#holds(user);
  }

  async #holds(user: Authenticatable): Promise<boolean> {
    return (await readAgain(this.#model, user)) !== null;
  }
}

function conditionsOf(user: Authenticatable): AccessConditions {
  // Given by the class, which was looked at when the writer was made.
  return (user as AccessHolder).accessConditions();
}
