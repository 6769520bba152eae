import {
  CONFLICT_RETRIES,
  type Connection,
  type Database,
  type ParameterValues,
  parameter,
  type Row,
} from "../../../database/index.ts";
import type { LoginProof } from "../../access/login-proof.ts";
import { ProvenInsert, provesByRow, userAsProved } from "../../credentials/proven-insert.ts";
import type { UserModelClass } from "../../models/joinable-users.ts";
import { methodsColumn } from "../../proofs/login-methods.ts";
import type { AuthenticatableClass } from "../../users/authenticatable.ts";
import type { LoginRenewal, NewLogin, RenewedLogin } from "../login-store.ts";
import { LOGIN_TABLE } from "./login-table.ts";

/**
 * Writes logins that are based on a proof, given for a user as they were read. Nothing is written once the user's row
 * is gone, or access to the account has ended since: a login or a confirmation in progress does not survive a password
 * reset.
 */
export interface LoginWriter {
  /** Stores a login, and returns its key; `null` if the proof no longer holds. */
  insert(login: NewLogin, proof: LoginProof): Promise<string | null>;
  /** Gives a login a new token, and returns whether the proof still held and the login existed with the old one. */
  renew(login: RenewedLogin, renewal: LoginRenewal, proof: LoginProof): Promise<boolean>;
}

/**
 * Creates the writer for a guard. The statements for a login are compiled once, not at each login.
 *
 * @param hasMethods whether the table has the column `methods`
 */
export function loginWriter(database: Database, model: AuthenticatableClass, hasMethods = true): LoginWriter {
  const connection = database.connection();
  const { methods: _methods, ...former } = INSERT.values;
  const insert = new ProvenInsert(database, model, hasMethods ? INSERT : { ...INSERT, values: former });
  return provesByRow(database, model)
    ? new ConditionalWriter(connection, model, insert, hasMethods)
    : new ComparingWriter(connection, insert, hasMethods);
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
    methods: parameter("methods"),
    last_used_at: parameter("lastUsedAt"),
    created_at: parameter("createdAt"),
    expires_at: parameter("expiresAt"),
  },
} as const;

/** For users in a table next to that of the logins: one statement checks whether the proof holds, and writes. */
class ConditionalWriter implements LoginWriter {
  readonly #connection: Connection;
  readonly #model: UserModelClass;
  readonly #insert: ProvenInsert;
  readonly #hasMethods: boolean;

  constructor(connection: Connection, model: UserModelClass, insert: ProvenInsert, hasMethods: boolean) {
    this.#connection = connection;
    this.#model = model;
    this.#insert = insert;
    this.#hasMethods = hasMethods;
  }

  insert(login: NewLogin, proof: LoginProof): Promise<string | null> {
    return this.#insert.run(parametersOf(login, this.#hasMethods), proof);
  }

  async renew(login: RenewedLogin, renewal: LoginRenewal, proof: LoginProof): Promise<boolean> {
    const { numUpdatedRows } = await renewing(this.#connection, login, changesOf(renewal, this.#hasMethods), proof)
      .where(({ exists }) => exists(userAsProved(this.#connection, this.#model, proof)))
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }
}

/**
 * For users of any other class, or in another database: what was written is undone if the proof turns out not to hold.
 */
class ComparingWriter implements LoginWriter {
  readonly #connection: Connection;
  readonly #insert: ProvenInsert;
  readonly #hasMethods: boolean;

  constructor(connection: Connection, insert: ProvenInsert, hasMethods: boolean) {
    this.#connection = connection;
    this.#insert = insert;
    this.#hasMethods = hasMethods;
  }

  insert(login: NewLogin, proof: LoginProof): Promise<string | null> {
    return this.#insert.run(parametersOf(login, this.#hasMethods), proof);
  }

  async renew(login: RenewedLogin, renewal: LoginRenewal, proof: LoginProof): Promise<boolean> {
    const replace = () => this.#replaceToken(login, renewal, proof);
    const former = await this.#connection.transaction(replace, { retries: CONFLICT_RETRIES });
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
  async #replaceToken(login: RenewedLogin, renewal: LoginRenewal, proof: LoginProof): Promise<Row | null> {
    const { kysely, dialect } = this.#connection;
    const columns = ["token_hash", "authenticated_at", ...(this.#hasMethods ? ["methods"] : [])];
    const query = kysely.selectFrom(LOGIN_TABLE).select(columns).where("id", "=", login.id);
    const former = await dialect.lockRows(query, "change").executeTakeFirst();
    const { numUpdatedRows } = await renewing(
      this.#connection,
      login,
      changesOf(renewal, this.#hasMethods),
      proof,
    ).executeTakeFirst();
    return former !== undefined && numUpdatedRows > 0n ? former : null;
  }
}

/** The statement that gives an owner's login a new token in place of the one it has, in the access epoch of the proof. */
function renewing(
  { kysely }: Connection,
  { id, guard, userId, tokenHash: former }: RenewedLogin,
  changes: Row,
  { accessEpoch }: LoginProof,
) {
  return kysely
    .updateTable(LOGIN_TABLE)
    .set(changes)
    .where("id", "=", id)
    .where("guard", "=", guard)
    .where("user_id", "=", userId)
    .where("token_hash", "=", former)
    .where("access_epoch", "=", accessEpoch);
}

function parametersOf({ methods, ...login }: NewLogin, hasMethods: boolean): ParameterValues {
  return { ...login, ...(hasMethods && { methods: methodsColumn(methods) }) };
}

/** The columns that a renewal changes. */
export function changesOf({ tokenHash, authenticatedAt, methods }: LoginRenewal, hasMethods: boolean): Row {
  const changes = { token_hash: tokenHash, authenticated_at: authenticatedAt };
  return hasMethods && methods !== undefined ? { ...changes, methods: methodsColumn(methods) } : changes;
}
