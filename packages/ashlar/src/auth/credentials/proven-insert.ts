import {
  type Connection,
  type Database,
  type Expression,
  type ParameterValues,
  type PreparedStatement,
  parameter,
  type SqlBool,
  sql,
} from "../../database/index.ts";
import { type AccessConditions, type AccessHolder, holdsAccess, type LoginProof } from "../access/access-epoch.ts";
import { standsBesideAuth, type UserModelClass } from "../models/joinable-users.ts";
import type { AuthenticatableClass } from "../users/authenticatable.ts";

/** Reports whether one statement can check a proof with the row of its user: the users are rows next to auth's tables. */
export function provesByRow(database: Database, model: AuthenticatableClass): model is UserModelClass {
  return standsBesideAuth(database, model) && holdsAccess(model.prototype);
}

/** A query for the row of a proof's user, as the proof requires it. */
export function userAsProved(
  { kysely }: Connection,
  { table, primaryKey }: UserModelClass,
  { user }: LoginProof,
): Expression<unknown> {
  return withConditions(
    kysely.selectFrom(table).select(primaryKey).where(primaryKey, "=", user.authId()),
    conditionsOf(user),
    (_, value) => value,
  );
}

/**
 * Inserts a credential that is based on a proof, such as a login or an API token: nothing is stored once access to the
 * account has ended since the proof was given. With users in a table next to it, that is one conditional statement;
 * otherwise the row is deleted again. Statements are compiled once.
 */
export class ProvenInsert {
  readonly #connection: Connection;
  readonly #table: string;
  readonly #values: Readonly<Record<string, Expression<unknown>>>;
  readonly #users: UserModelClass | null;
  /** Compares the basis of the proof: the epoch, or if there isn't one, the columns that replace it. */
  readonly #statements = new Map<string, PreparedStatement>();

  /** @param columns the written columns, each with the value of the same name; `user_id` is the user's key */
  constructor(database: Database, model: AuthenticatableClass, table: string, columns: readonly string[]) {
    this.#connection = database.connection();
    this.#table = table;
    this.#values = Object.fromEntries(columns.map((column) => [column, parameter(column)]));
    this.#users = provesByRow(database, model) ? model : null;
  }

  /** Stores the row, and returns its key; `null` if the proof no longer holds. */
  async run(values: ParameterValues, proof: LoginProof): Promise<string | null> {
    if (this.#users !== null) return this.#runIf(this.#users, values, conditionsOf(proof.user));
    const [row] = await this.#statement("", () => ({}))(values);
    const id = String(row!.id);
    if (await proof.holds()) return id;
    await this.#connection.kysely.deleteFrom(this.#table).where("id", "=", id).execute();
    return null;
  }

  async #runIf(users: UserModelClass, values: ParameterValues, conditions: AccessConditions): Promise<string | null> {
    const key = Object.entries(conditions).map(([column, value]) => (value === null ? `${column} is null` : column));
    const statement = this.#statement(key.join(), () => ({ onlyIf: this.#isUserWith(users, conditions) }));
    const named = Object.entries(conditions).map(([column, value]) => [nameOf(column), value] as const);
    const [row] = await statement({ ...values, ...Object.fromEntries(named) });
    return row === undefined ? null : String(row.id);
  }

  #statement(key: string, condition: () => { readonly onlyIf?: Expression<SqlBool> }): PreparedStatement {
    let statement = this.#statements.get(key);
    if (statement === undefined) {
      statement = this.#connection.writes.insert({
        table: this.#table,
        values: this.#values,
        returning: ["id"],
        ...condition(),
      });
      this.#statements.set(key, statement);
    }
    return statement;
  }

  /** Waits for a concurrent deletion of the user, instead of using the old row. */
  #isUserWith({ table, primaryKey }: UserModelClass, conditions: AccessConditions): Expression<SqlBool> {
    const { kysely, dialect } = this.#connection;
    const query = kysely.selectFrom(table).select(primaryKey).where(primaryKey, "=", parameter("user_id"));
    const user = withConditions(query, conditions, (column) => parameter(nameOf(column)));
    return sql`exists ${dialect.transactions.lockRows(user, "reference")}`;
  }
}

interface Filterable {
  where(column: string, operator: "=" | "is", value: unknown): this;
}

/** @param operand the value that a non-empty column is compared with */
function withConditions<Query extends Filterable>(
  query: Query,
  conditions: AccessConditions,
  operand: (column: string, value: string) => unknown,
): Query {
  let filtered = query;
  for (const [column, value] of Object.entries(conditions)) {
    filtered =
      value === null ? filtered.where(column, "is", null) : filtered.where(column, "=", operand(column, value));
  }
  return filtered;
}

/** A name that no property of a credential has. */
function nameOf(column: string): string {
  return `user.${column}`;
}

function conditionsOf(user: LoginProof["user"]): AccessConditions {
  // The class has this method: that was checked when the statement was prepared.
  return (user as AccessHolder).accessConditions();
}
