import { type Connection, type Row, sql } from "../../database/index.ts";
import { currentDate, isThenable, type MaybePromise } from "../../support/index.ts";
import { isJoinable, type UserModelClass } from "../models/joinable-users.ts";
import type { Authenticatable, UserId } from "../users/authenticatable.ts";
import type { Credential, CredentialRange, CredentialTableOptions, FoundCredential } from "./credential.ts";
import { type CredentialShape, isKey, unexpiredAt, unrevoked, withValues } from "./credential-shape.ts";

/** The data that a {@link CredentialFinder} searches. */
type FinderOptions = Pick<
  CredentialTableOptions<object>,
  "database" | "guard" | "users" | "table" | "keepsRevoked" | "only"
>;

/** Finds the credentials with a value in one column. */
type Search<Found> = (value: string) => MaybePromise<Found | null>;

const DEFAULT_LIMIT = 100;

/** Begins names for a credential's columns that don't collide with those of a user in the same row. */
const PREFIX = "__credential_";

/**
 * Finds credentials of one guard by a unique column. Each statement is compiled once, and has one parameter.
 *
 * Credential and user are read by one statement if the users are rows next to the table that are found only by their primary
 * key.
 */
export class CredentialFinder<Columns extends object> {
  /** Whether one statement reads both. */
  readonly joinsUsers: boolean;
  readonly #options: FinderOptions;
  readonly #shape: CredentialShape<Columns>;
  readonly #connection: Connection;
  readonly #joined: UserModelClass | null;
  /** Statements by the column that they search. */
  readonly #alone = new Map<string, Search<Credential<Columns>>>();
  readonly #withUser = new Map<string, Search<FoundCredential<Columns>>>();

  constructor(options: FinderOptions, shape: CredentialShape<Columns>) {
    const { database, users } = options;
    this.#options = options;
    this.#shape = shape;
    this.#connection = database.connection();
    this.#joined = isJoinable(database, users) ? users : null;
    this.joinsUsers = this.#joined !== null;
  }

  /** The credential without its user. */
  get(column: string, value: string): MaybePromise<Credential<Columns> | null> {
    let search = this.#alone.get(column);
    if (search === undefined) {
      search = this.#searchAlone(column);
      this.#alone.set(column, search);
    }
    return search(value);
  }

  /** The credential and its user. */
  find(column: string, value: string): MaybePromise<FoundCredential<Columns> | null> {
    let search = this.#withUser.get(column);
    if (search === undefined) {
      search = this.#joined === null ? this.#searchBoth(column) : this.#searchJoined(column, this.#joined);
      this.#withUser.set(column, search);
    }
    return search(value);
  }

  /**
   * A user's credentials, newest first.
   *
   * @param epoch default: all of them
   */
  async list(
    userId: UserId,
    { limit = DEFAULT_LIMIT, olderThan = null, newerThan = null, withExpired = false }: CredentialRange,
    epoch?: string,
  ): Promise<readonly Credential<Columns>[]> {
    if (newerThan !== null && !isKey(newerThan)) return [];
    let query = this.#of(userId, epoch);
    if (!withExpired) query = query.where(unexpiredAt(currentDate()));
    if (newerThan !== null) query = query.where("id", ">", newerThan);
    if (olderThan !== null && isKey(olderThan)) query = query.where("id", "<", olderThan);
    // Starts with the nearest ones, so that the limit omits the farthest.
    const nearest = query.orderBy("id", newerThan === null ? "desc" : "asc").limit(limit);
    const { names } = this.#shape;
    const rows: readonly Row[] = await nearest.select([...names]).execute();
    const credentials = rows.map((row) => this.#shape.credential(names.map((name) => row[name])));
    return newerThan === null ? credentials : credentials.reverse();
  }

  /** How many credentials of a user have not ended. */
  async count(userId: UserId, epoch: string): Promise<number> {
    const active = this.#of(userId, epoch).where(unexpiredAt(currentDate()));
    const { total } = await active.select(sql`count(*)`.as("total")).executeTakeFirstOrThrow();
    return Number(total);
  }

  /** Columns of all of a user's credentials, including ended ones, oldest first. */
  async export(userId: UserId, columns: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { guard, table, only } = this.#options;
    const query = this.#connection.kysely.selectFrom(table).select([...columns]);
    const rows: readonly Row[] = await withValues(query, { ...only, guard, user_id: userId })
      .orderBy("id")
      .execute();
    return rows.map((row) => Object.fromEntries(columns.map((name) => [name, this.#shape.value(name, row[name])])));
  }

  #of(userId: UserId, epoch?: string) {
    const { guard, table, only } = this.#options;
    const own = { ...only, guard, user_id: userId, ...(epoch === undefined ? {} : { access_epoch: epoch }) };
    return withValues(this.#connection.kysely.selectFrom(table), { ...unrevoked(this.#options), ...own });
  }

  #searchAlone(column: string): Search<Credential<Columns>> {
    const { table } = this.#options;
    const shape = this.#shape;
    const query = this.#connection.kysely.selectFrom(table).select([...shape.names]);
    const statement = this.#own(query.where(column, "=", "")).compile().sql;
    return this.#search(statement, (row) => shape.credential(shape.names.map((name) => row[name])));
  }

  #searchBoth(column: string): Search<FoundCredential<Columns>> {
    const { users } = this.#options;
    return async (value) => {
      const credential = await this.get(column, value);
      return credential && { credential, user: await users.findByAuthId(String(credential.user_id)) };
    };
  }

  /**
   * Takes the credential's columns out of each row; what remains is the row of its user.
   *
   * The names are not written out: each row of `node:sqlite` has its own hidden class, and V8 takes ten times as long to
   * read `row.__credential_id` from an object of a class that it has not seen before.
   */
  #searchJoined(column: string, users: UserModelClass): Search<FoundCredential<Columns>> {
    const { table } = this.#options;
    const shape = this.#shape;
    const names = shape.names.map((name) => `${PREFIX}${name}`);
    const query = this.#connection.kysely
      .selectFrom(table)
      .innerJoin(users.table, `${users.table}.${users.primaryKey}`, `${table}.user_id`)
      .selectAll(users.table)
      .select(shape.names.map((name, index) => `${table}.${name} as ${names[index]!}` as const))
      .where(`${table}.${column}`, "=", "");
    const statement = this.#own(query).compile().sql;
    return this.#search(statement, (row) => {
      const values: unknown[] = [];
      for (const name of names) {
        values.push(row[name]);
        delete row[name];
      }
      return new JoinedCredential(shape.credential(values), row, users);
    });
  }

  /**
   * Limits a query to credentials of this guard and kind, by values in its text; the only parameter is the value to
   * look up.
   */
  #own<Query extends { where(column: string, operator: "=", value: unknown): Query }>(query: Query): Query {
    const { guard, table, only } = this.#options;
    const own = Object.entries({ ...only, guard });
    return own.reduce((all, [column, value]) => all.where(`${table}.${column}`, "=", sql.lit(value)), query);
  }

  #search<Found>(statement: string, read: (row: Row) => Found): Search<Found> {
    const connection = this.#connection;
    const readIfFound = (row: Row | undefined) => (row === undefined ? null : read(row));
    return (value) => {
      const found = connection.first(statement, value);
      return isThenable(found) ? found.then(readIfFound) : readIfFound(found);
    };
  }
}

/** A credential that was found together with its user, who is created from the row when first read. */
class JoinedCredential<Columns extends object> implements FoundCredential<Columns> {
  readonly credential: Credential<Columns>;
  readonly #row: Row;
  readonly #users: UserModelClass;
  #user: Authenticatable | null = null;

  constructor(credential: Credential<Columns>, row: Row, users: UserModelClass) {
    this.credential = credential;
    this.#row = row;
    this.#users = users;
  }

  get user(): Authenticatable {
    this.#user ??= this.#users.fromRow(this.#row);
    return this.#user;
  }
}
