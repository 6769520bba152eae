import { type Connection, type Database, dateOf, type Row, sql } from "../../../database/index.ts";
import { isThenable, type MaybePromise } from "../../../support/index.ts";
import { isJoinable, type UserModelClass } from "../../models/joinable-users.ts";
import { type LoginMethod, methodsFrom } from "../../proofs/login-methods.ts";
import type { Authenticatable, AuthenticatableClass, UserId } from "../../users/authenticatable.ts";
import type { FoundLogin } from "../login-store.ts";
import { LOGIN_TABLE } from "./login-table.ts";

/** Finds logins of one guard. Its statement is compiled when it is created. */
export interface LoginFinder {
  find(tokenHash: string): MaybePromise<FoundLogin | null>;
}

/**
 * Creates the finder for a guard, by its name. It reads login and user in one query if the user is a model whose table
 * is next to that of the logins and that is found only by its primary key; otherwise it reads only the login.
 *
 * @param hasMethods whether the table has the column `methods`
 */
export function loginFinder(
  database: Database,
  guard: string,
  model: AuthenticatableClass,
  hasMethods = true,
): LoginFinder {
  const connection = database.connection();
  const selected = hasMethods ? SELECTED : SELECTED.slice(0, -1);
  return isJoinable(database, model)
    ? new JoinedFinder(connection, guard, model, selected)
    : new SeparateFinder(connection, guard, selected);
}

const COLUMNS = [
  "id",
  "access_epoch",
  "authenticated_at",
  "last_used_at",
  "expires_at",
  "created_at",
  // The last: tables of before lack it.
  "methods",
] as const;

/** Begins names for a login's columns that don't collide with those of a user in the same row. */
const PREFIX = "__login_";

const NAMES = COLUMNS.map((column) => `${PREFIX}${column}` as const);

const SELECTED = COLUMNS.map((column) => `${LOGIN_TABLE}.${column} as ${PREFIX}${column}` as const);

/**
 * Takes a login's columns out of a row, in the order of `COLUMNS`; what remains is the row of its user.
 *
 * The names are not written out: each row of `node:sqlite` has its own hidden class, and V8 takes ten times as long to
 * read `row.__login_id` from an object of a class that it has not seen before.
 */
function takeLogin(row: Row): readonly unknown[] {
  return NAMES.map((name) => {
    const value = row[name];
    delete row[name];
    return value;
  });
}

/**
 * A login from a row. Every page takes this path, and most of the times are never read, so they are parsed on demand.
 */
abstract class RowLogin implements FoundLogin {
  readonly id: string;
  readonly accessEpoch: string;
  readonly #authenticatedAt: unknown;
  readonly #lastUsedAt: unknown;
  readonly #expiresAt: unknown;
  readonly #createdAt: unknown;
  readonly #methods: unknown;

  constructor(row: Row) {
    const [id, accessEpoch, authenticatedAt, lastUsedAt, expiresAt, createdAt, methods] = takeLogin(row);
    this.id = String(id);
    this.accessEpoch = accessEpoch as string;
    this.#authenticatedAt = authenticatedAt;
    this.#lastUsedAt = lastUsedAt;
    this.#expiresAt = expiresAt;
    this.#createdAt = createdAt;
    this.#methods = methods;
  }

  abstract get userId(): UserId;

  get authenticatedAt(): Date | null {
    return this.#authenticatedAt === null ? null : dateOf(this.#authenticatedAt);
  }

  get methods(): readonly LoginMethod[] {
    return methodsFrom(this.#methods);
  }

  get lastUsedAt(): Date {
    return dateOf(this.#lastUsedAt);
  }

  get expiresAt(): Date {
    return dateOf(this.#expiresAt);
  }

  get createdAt(): Date {
    return dateOf(this.#createdAt);
  }
}

/** A login that was found together with its user, which is created from the row when it is first read. */
class LoginWithUser extends RowLogin {
  readonly #row: Row;
  readonly #model: UserModelClass;
  #user: Authenticatable | null = null;

  constructor(row: Row, model: UserModelClass) {
    super(row);
    this.#row = row;
    this.#model = model;
  }

  get userId(): UserId {
    return this.user.authId();
  }

  get user(): Authenticatable {
    this.#user ??= this.#model.fromRow(this.#row);
    return this.#user;
  }
}

class LoginAlone extends RowLogin {
  readonly userId: UserId;

  constructor(row: Row) {
    super(row);
    this.userId = row.user_id as UserId;
  }
}

class JoinedFinder implements LoginFinder {
  readonly #connection: Connection;
  readonly #model: UserModelClass;
  readonly #statement: string;

  constructor(connection: Connection, guard: string, model: UserModelClass, selected: typeof SELECTED) {
    this.#connection = connection;
    this.#model = model;
    const { table, primaryKey } = model;
    this.#statement = connection.kysely
      .selectFrom(LOGIN_TABLE)
      .innerJoin(table, `${table}.${primaryKey}`, `${LOGIN_TABLE}.user_id`)
      .selectAll(table)
      .select(selected)
      .where(`${LOGIN_TABLE}.token_hash`, "=", "")
      .where(`${LOGIN_TABLE}.guard`, "=", sql.lit(guard))
      .compile().sql;
  }

  find(tokenHash: string): MaybePromise<FoundLogin | null> {
    const found = this.#connection.first(this.#statement, tokenHash);
    return isThenable(found) ? found.then((row) => this.#login(row)) : this.#login(found);
  }

  #login(row: Row | undefined): FoundLogin | null {
    return row === undefined ? null : new LoginWithUser(row, this.#model);
  }
}

class SeparateFinder implements LoginFinder {
  readonly #connection: Connection;
  readonly #statement: string;

  constructor(connection: Connection, guard: string, selected: typeof SELECTED) {
    this.#connection = connection;
    this.#statement = connection.kysely
      .selectFrom(LOGIN_TABLE)
      .select([...selected, "user_id"])
      .where("token_hash", "=", "")
      .where("guard", "=", sql.lit(guard))
      .compile().sql;
  }

  async find(tokenHash: string): Promise<FoundLogin | null> {
    const row = await this.#connection.first(this.#statement, tokenHash);
    return row === undefined ? null : new LoginAlone(row);
  }
}
