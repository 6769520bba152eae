import {
  type Connection,
  type Database,
  type Expression,
  type ParameterValues,
  type PreparedStatement,
  parameter,
  type SqlBool,
  sql,
} from "../../../database/index.ts";
import { type AccessConditions, type AccessHolder, holdsAccess } from "../../access-epoch.ts";
import type { AuthenticatableClass } from "../../authenticatable.ts";
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

/** The columns that are written, each from a parameter of the login's own name. */
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

/** For users in a table beside that of the logins: one statement asks whether the proof holds, and writes. */
class ConditionalWriter implements LoginWriter {
  readonly #connection: Connection;
  readonly #table: string;
  readonly #primaryKey: string;
  /** By what the proof rests on: the epoch, or if there is none, the columns that stand for it. */
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

  async renew(id: string, { tokenHash, authenticatedAt }: LoginRenewal, proof: LoginProof): Promise<boolean> {
    const { numUpdatedRows } = await this.#connection.kysely
      .updateTable(LOGIN_TABLE)
      .set({ token_hash: tokenHash, authenticated_at: authenticatedAt })
      .where("id", "=", id)
      .where("access_epoch", "=", proof.accessEpoch)
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

  /** Waits for a deletion of the user that is under way, instead of going by the row as it was. */
  #isUserWith(conditions: AccessConditions): Expression<SqlBool> {
    const user = this.#userWith(parameter("userId"), conditions, (column) => parameter(nameOf(column)));
    return sql`exists ${this.#connection.dialect.lockRows(user, "reference")}`;
  }

  /** A query for the user's row, as the proof needs it. @param operand what a column that is not empty is compared with */
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

/** For users of any other class, or elsewhere: what was written is taken back if the proof turns out not to hold. */
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

/** The conditions as values of parameters, whose names no login's value has. */
function named(conditions: AccessConditions): ParameterValues {
  return Object.fromEntries(Object.entries(conditions).map(([column, value]) => [nameOf(column), value]));
}

function nameOf(column: string): string {
  return `user.${column}`;
}

function conditionsOf({ user }: LoginProof): AccessConditions {
  // Given by the class, which was looked at when the writer was made.
  return (user as AccessHolder).accessConditions();
}
