import { type ColumnValue, type Connection, type Database, sql } from "../../../database/index.ts";
import { type AccessConditions, type AccessHolder, holdsAccess } from "../../access-epoch.ts";
import type { AuthenticatableClass, UserId } from "../../authenticatable.ts";
import type { LoginProof, LoginRenewal, NewLogin } from "../login-store.ts";
import { LOGIN_TABLE, standsBesideLogins, type UserModelClass } from "./login-table.ts";

/**
 * Writes logins on the strength of a proof that was given for a user as it was read. Nothing is written once the user's
 * row is gone, or access to the account has ended since: a login, or a confirmation, that was under way does not survive
 * a reset of the password.
 */
export interface LoginWriter {
  /** Stores a login, and gives its key; `null` if the proof no longer holds. */
  insert(login: NewLogin, proof: LoginProof): Promise<string | null>;
  /** Gives a login a new token, and tells whether the proof still held and the login was there. */
  renew(id: string, renewal: LoginRenewal, proof: LoginProof): Promise<boolean>;
}

/** Makes the writer for a guard. The statements that a login takes are compiled once, not at each login. */
export function loginWriter(database: Database, model: AuthenticatableClass): LoginWriter {
  const connection = database.connection();
  return isConditional(database, model) ? new ConditionalWriter(connection, model) : new ComparingWriter(connection);
}

function isConditional(database: Database, model: AuthenticatableClass): model is UserModelClass {
  return standsBesideLogins(database, model) && holdsAccess(model.prototype);
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
function valuesOf(login: NewLogin): ColumnValue[] {
  const { userId, guard, tokenHash, accessEpoch, ip, userAgent, authenticatedAt, lastUsedAt, createdAt, expiresAt } =
    login;
  return [userId, guard, tokenHash, accessEpoch, ip, userAgent, authenticatedAt, lastUsedAt, createdAt, expiresAt];
}

/** For users in a table beside that of the logins: one statement asks whether the proof holds, and writes. */
class ConditionalWriter implements LoginWriter {
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

  async insert(login: NewLogin, proof: LoginProof): Promise<string | null> {
    const conditions = conditionsOf(proof);
    const parameters = [...valuesOf(login), login.userId, ...Object.values(conditions)];
    const [row] = await this.#connection.rows(this.#insertOn(conditions), parameters);
    return row === undefined ? null : String(row.id);
  }

  async renew(id: string, { tokenHash, authenticatedAt }: LoginRenewal, proof: LoginProof): Promise<boolean> {
    const { numUpdatedRows } = await this.#connection.kysely
      .updateTable(LOGIN_TABLE)
      .set({ token_hash: tokenHash, authenticated_at: authenticatedAt })
      .where("id", "=", id)
      .where("access_epoch", "=", proof.accessEpoch)
      .where(({ exists }) => exists(this.#userWith(proof.user.authId(), conditionsOf(proof))))
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  #insertOn(conditions: AccessConditions): string {
    const key = Object.keys(conditions).join();
    let statement = this.#inserts.get(key);
    if (statement === undefined) {
      const values = INSERTED.map((column) => sql`${""}`.as(column));
      statement = this.#connection.kysely
        .insertInto(LOGIN_TABLE)
        .columns(INSERTED)
        .expression(this.#lockedUserWith(conditions).clearSelect().select(values))
        .returning("id")
        .compile().sql;
      this.#inserts.set(key, statement);
    }
    return statement;
  }

  /** Waits for a deletion of the user that is under way, instead of going by the row as it was. */
  #lockedUserWith(conditions: AccessConditions) {
    return this.#connection.dialect.lockRows(this.#userWith("", conditions), "reference");
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

/** For users of any other class, or elsewhere: what was written is taken back if the proof turns out not to hold. */
class ComparingWriter implements LoginWriter {
  readonly #connection: Connection;
  readonly #statement: string;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#statement = connection.kysely
      .insertInto(LOGIN_TABLE)
      .values(Object.fromEntries(INSERTED.map((column) => [column, ""])))
      .returning("id")
      .compile().sql;
  }

  async insert(login: NewLogin, proof: LoginProof): Promise<string | null> {
    const [row] = await this.#connection.rows(this.#statement, valuesOf(login));
    const id = String(row!.id);
    if (await proof.holds()) return id;
    await this.#connection.kysely.deleteFrom(LOGIN_TABLE).where("id", "=", id).execute();
    return null;
  }

  async renew(id: string, { tokenHash, authenticatedAt }: LoginRenewal, proof: LoginProof): Promise<boolean> {
    const { numUpdatedRows } = await this.#connection.kysely
      .updateTable(LOGIN_TABLE)
      .set({ token_hash: tokenHash, authenticated_at: authenticatedAt })
      .where("id", "=", id)
      .where("access_epoch", "=", proof.accessEpoch)
      .executeTakeFirst();
    // A login carries the epoch it began in, so what was renewed in vain is void in any case.
    return numUpdatedRows > 0n && proof.holds();
  }
}

function conditionsOf({ user }: LoginProof): AccessConditions {
  // Given by the class, which was looked at when the writer was made.
  return (user as AccessHolder).accessConditions();
}
