import {
  type Connection,
  type Database,
  type Expression,
  type ParameterValues,
  type PreparedStatement,
  parameter,
  type Row,
  type SqlBool,
  sql,
} from "../../../database/index.ts";
import { type AccessConditions, type AccessHolder, holdsAccess } from "../../access-epoch.ts";
import type { AuthenticatableClass } from "../../authenticatable.ts";
import type { LoginOwner, LoginProof, LoginRenewal, NewLogin } from "../login-store.ts";
import { LOGIN_TABLE, standsBesideLogins, type UserModelClass } from "./login-table.ts";

/**
 * Writes logins that are based on a proof, given for a user as they were read. Nothing is written once the user's row
 * is gone, or access to the account has ended since: a login or a confirmation in progress does not survive a password
 * reset.
 */
export interface LoginWriter {
  /** Stores a login, and returns its key; `null` if the proof no longer holds. */
  insert(login: NewLogin, proof: LoginProof): Promise<string | null>;
  /** Gives a login a new token, and returns whether the proof still held and the login existed. */
  renew(login: OwnedLogin, renewal: LoginRenewal, proof: LoginProof): Promise<boolean>;
}

/** A login, by its key and its owner. */
type OwnedLogin = LoginOwner & { readonly id: string };

/** Creates the writer for a guard. The statements for a login are compiled once, not at each login. */
export function loginWriter(database: Database, model: AuthenticatableClass): LoginWriter {
  const connection = database.connection();
  return isConditional(database, model) ? new ConditionalWriter(connection, model) : new ComparingWriter(connection);
}

function isConditional(database: Database, model: AuthenticatableClass): model is UserModelClass {
  return standsBesideLogins(database, model) && holdsAccess(model.prototype);
}

/** The columns that are written, each from a parameter with the name of the login's property. */
const INSERT = {
  table: LOGIN_TABLE,
  values: {
    user_id: parameter("userId"),
    guard: parameter("guard"),
    token_hash: parameter("tokenHash"),
    access_epoch: parameter("accessEpoch"),
    ip: parameter("ip"),
    user_agent: parameter("userAgent"),
    authenticated_at: parameter("authenticatedAt"),
    last_used_at: parameter("lastUsedAt"),
    created_at: parameter("createdAt"),
    expires_at: parameter("expiresAt"),
  },
  returning: ["id"],
} as const;

/** For users in a table next to that of the logins: one statement checks whether the proof holds, and writes. */
class ConditionalWriter implements LoginWriter {
  readonly #connection: Connection;
  readonly #table: string;
  readonly #primaryKey: string;
  /** By what the proof is based on: the epoch, or if there is none, the columns that replace it. */
  readonly #inserts = new Map<string, PreparedStatement>();

  constructor(connection: Connection, model: UserModelClass) {
    this.#connection = connection;
    this.#table = model.table;
    this.#primaryKey = model.primaryKey;
  }

  async insert(login: NewLogin, proof: LoginProof): Promise<string | null> {
    const conditions = conditionsOf(proof);
    const values: ParameterValues = { ...login };
    const [row] = await this.#insertOn(conditions)({ ...values, ...named(conditions) });
    return row === undefined ? null : String(row.id);
  }

  async renew(login: OwnedLogin, renewal: LoginRenewal, proof: LoginProof): Promise<boolean> {
    const { numUpdatedRows } = await renewing(this.#connection, login, renewal, proof)
      .where(({ exists }) => exists(this.#userWith(proof.user.authId(), conditionsOf(proof), (_, value) => value)))
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  #insertOn(conditions: AccessConditions): PreparedStatement {
    const key = Object.entries(conditions).map(([column, value]) => (value === null ? `${column} is null` : column));
    let statement = this.#inserts.get(key.join());
    if (statement === undefined) {
      statement = this.#connection.prepareInsert({ ...INSERT, onlyIf: this.#isUserWith(conditions) });
      this.#inserts.set(key.join(), statement);
    }
    return statement;
  }

  /** Waits for a concurrent deletion of the user, instead of using the row as it was before. */
  #isUserWith(conditions: AccessConditions): Expression<SqlBool> {
    const user = this.#userWith(parameter("userId"), conditions, (column) => parameter(nameOf(column)));
    return sql`exists ${this.#connection.dialect.lockRows(user, "reference")}`;
  }

  /**
   * A query for the user's row, as the proof requires it.
   *
   * @param operand what a column that is not empty is compared with
   */
  #userWith(id: unknown, conditions: AccessConditions, operand: (column: string, value: string) => unknown) {
    let query = this.#connection.kysely
      .selectFrom(this.#table)
      .select(this.#primaryKey)
      .where(this.#primaryKey, "=", id);
    for (const [column, value] of Object.entries(conditions)) {
      query = value === null ? query.where(column, "is", null) : query.where(column, "=", operand(column, value));
    }
    return query;
  }
}

/**
 * For users of any other class, or in another database: what was written is undone if the proof turns out not to hold.
 */
class ComparingWriter implements LoginWriter {
  readonly #connection: Connection;
  readonly #insert: PreparedStatement;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#insert = connection.prepareInsert(INSERT);
  }

  async insert(login: NewLogin, proof: LoginProof): Promise<string | null> {
    const [row] = await this.#insert({ ...login });
    const id = String(row!.id);
    if (await proof.holds()) return id;
    await this.#connection.kysely.deleteFrom(LOGIN_TABLE).where("id", "=", id).execute();
    return null;
  }

  async renew(login: OwnedLogin, renewal: LoginRenewal, proof: LoginProof): Promise<boolean> {
    const former = await this.#connection.transaction(() => this.#replaceToken(login, renewal, proof));
    if (former === null) return false;
    if (await proof.holds()) return true;
    await this.#connection.kysely
      .updateTable(LOGIN_TABLE)
      .set(former)
      // Only its own token, which no other login has: another request may have replaced it since.
      .where("token_hash", "=", renewal.tokenHash)
      .execute();
    return false;
  }

  /** Writes the new token, and returns what it replaced; `null` if there is no such login. */
  async #replaceToken(login: OwnedLogin, renewal: LoginRenewal, proof: LoginProof): Promise<Row | null> {
    const { kysely, dialect } = this.#connection;
    const query = kysely.selectFrom(LOGIN_TABLE).select(["token_hash", "authenticated_at"]).where("id", "=", login.id);
    const former = await dialect.lockRows(query, "change").executeTakeFirst();
    const { numUpdatedRows } = await renewing(this.#connection, login, renewal, proof).executeTakeFirst();
    return former !== undefined && numUpdatedRows > 0n ? former : null;
  }
}

/** The statement that gives an owner's login a new token, in the access epoch of the proof. */
function renewing(
  { kysely }: Connection,
  { id, guard, userId }: OwnedLogin,
  { tokenHash, authenticatedAt }: LoginRenewal,
  { accessEpoch }: LoginProof,
) {
  return kysely
    .updateTable(LOGIN_TABLE)
    .set({ token_hash: tokenHash, authenticated_at: authenticatedAt })
    .where("id", "=", id)
    .where("guard", "=", guard)
    .where("user_id", "=", userId)
    .where("access_epoch", "=", accessEpoch);
}

/** The conditions as values of parameters, with names that no property of a login has. */
function named(conditions: AccessConditions): ParameterValues {
  return Object.fromEntries(Object.entries(conditions).map(([column, value]) => [nameOf(column), value]));
}

function nameOf(column: string): string {
  return `user.${column}`;
}

function conditionsOf({ user }: LoginProof): AccessConditions {
  // The class has this method: that was checked when the writer was created.
  return (user as AccessHolder).accessConditions();
}
