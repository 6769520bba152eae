import { type Authenticatable, type AuthenticatableClass, isJoinable, type UserModelClass } from "../auth/index.ts";
import { type Connection, type Database, type Row, sql } from "../database/index.ts";
import { isThenable, type MaybePromise } from "../support/index.ts";

/** A row of a table of credentials that was found together with its user. */
export interface FoundWithUser {
  /** The values of {@link CredentialTable.columns}, in that order. */
  readonly values: readonly unknown[];
  /** `null` if the user no longer exists. */
  readonly user: Authenticatable | null;
}

/** A table of credentials, with the columns `user_id` and `guard`. */
export interface CredentialTable {
  readonly table: string;
  /** What is read of a row; `user_id` is one of them. */
  readonly columns: readonly string[];
  /** The column that a row is found by. */
  readonly key: string;
}

/** Begins names for a credential's columns that don't collide with those of a user in the same row. */
const PREFIX = "__token_";

/**
 * Prepares the search for a driver's credentials by their key: together with their users, by one statement, if the users are
 * rows next to them.
 */
export function finderWithUser(
  database: Database,
  guard: string,
  model: AuthenticatableClass,
  credentials: CredentialTable,
): (key: string) => MaybePromise<FoundWithUser | null> {
  const connection = database.connection();
  return isJoinable(database, model)
    ? joined(connection, guard, model, credentials)
    : separate(connection, guard, model, credentials);
}

function joined(
  connection: Connection,
  guard: string,
  model: UserModelClass,
  { table, columns, key }: CredentialTable,
): (key: string) => MaybePromise<FoundWithUser | null> {
  const names = columns.map((column) => `${PREFIX}${column}`);
  const statement = connection.kysely
    .selectFrom(table)
    .innerJoin(model.table, `${model.table}.${model.primaryKey}`, `${table}.user_id`)
    .selectAll(model.table)
    .select(columns.map((column, index) => `${table}.${column} as ${names[index]!}` as const))
    .where(`${table}.${key}`, "=", "")
    .where(`${table}.guard`, "=", sql.lit(guard))
    .compile().sql;
  const read = (row: Row | undefined): FoundWithUser | null => {
    return row === undefined ? null : { values: taken(row, names), user: model.fromRow(row) };
  };
  return (value) => {
    const found = connection.first(statement, value);
    return isThenable(found) ? found.then(read) : read(found);
  };
}

function separate(
  connection: Connection,
  guard: string,
  model: AuthenticatableClass,
  { table, columns, key }: CredentialTable,
): (key: string) => Promise<FoundWithUser | null> {
  const statement = connection.kysely
    .selectFrom(table)
    .select([...columns])
    .where(key, "=", "")
    .where("guard", "=", sql.lit(guard))
    .compile().sql;
  return async (value) => {
    const found = await connection.first(statement, value);
    if (found === undefined) return null;
    const values = columns.map((name) => found[name]);
    return { values, user: await model.findByAuthId(String(found.user_id)) };
  };
}

/** Takes a credential's columns out of a row; what remains is the row of its user. See `login-finder.ts`. */
function taken(row: Row, names: readonly string[]): readonly unknown[] {
  return names.map((name) => {
    const value = row[name];
    delete row[name];
    return value;
  });
}
