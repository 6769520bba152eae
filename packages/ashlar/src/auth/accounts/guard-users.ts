import type { Connection, Database } from "../../database/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import type { GuardEntry } from "../settings.ts";
import { isModel, isUserOf, keepsSameRows } from "../users-of.ts";
import { type AccountModel, type AccountUser, asAccountModel } from "./account-user.ts";

/** The table of a guard's users. */
export interface UserTable {
  readonly connection: Connection;
  readonly table: string;
  readonly primaryKey: string;
}

/** What {@link GuardUsers} works with. */
export interface GuardUsersParts {
  readonly guards: ReadonlyMap<string, GuardEntry>;
  /** The name of the guard that a request begins with; `null` if the configuration names none. */
  readonly defaultGuard: string | null;
  /** Gives the application's database, which need not exist before it is used. */
  readonly database: () => Database;
}

/** The users of each guard of the configuration. */
export class GuardUsers {
  readonly #parts: GuardUsersParts;

  constructor(parts: GuardUsersParts) {
    this.#parts = parts;
  }

  /** The names of the guards. */
  get guards(): readonly string[] {
    return [...this.#parts.guards.keys()];
  }

  /** The models of the guards that name one. */
  get models(): readonly object[] {
    return [...this.#parts.guards.values()].flatMap(({ model }) => (model === null ? [] : [model]));
  }

  /**
   * The model of a guard.
   *
   * @throws `E_INVALID_CONFIGURATION` if the guard names none; `E_INVALID_MODEL` if it cannot have accounts
   */
  of(guard: string): AccountModel {
    const model = this.#parts.guards.get(guard)?.model ?? null;
    if (model !== null) return asAccountModel(model, `The model of the guard "${guard}"`);
    const remedy = `Name the class of the users: ${guard}: { model: User }.`;
    throw new ConfigurationError(`config/auth.ts: GUARDS.${guard}`, "its users cannot have accounts.", remedy);
  }

  /** The model of a guard that a link names; `null` if there is no such guard any more. */
  named(guard: string): AccountModel | null {
    return this.#parts.guards.has(guard) ? this.of(guard) : null;
  }

  /** The guards whose users are the rows of a model's table, whatever their class. */
  guardsKeeping(model: object): readonly string[] {
    const { default: connection } = this.#parts.database().settings;
    return [...this.#parts.guards].flatMap(([name, { model: other }]) =>
      other !== null && keepsSameRows(model, other, connection) ? [name] : [],
    );
  }

  /** Where the users of a guard are; `null` if there is no such guard, or its users are not rows of a model. */
  tableOf(guard: string): UserTable | null {
    const model: object | null = this.#parts.guards.get(guard)?.model ?? null;
    if (model === null || !isModel(model)) return null;
    const connection = this.#parts.database().connection(model.connection ?? undefined);
    return { connection, table: model.table, primaryKey: model.primaryKey };
  }

  /** As {@link tableOf}, for one statement that is also about a table of auth: `null` on another connection as well. */
  tableBesideAuth(guard: string): UserTable | null {
    const users = this.tableOf(guard);
    return users?.connection === this.#parts.database().connection() ? users : null;
  }

  /**
   * Does some work in a transaction of the application's database, and of the one that the guard's users are in if that is
   * another: what the work throws rolls both back. The users' commits first, so that what ends access has changed the user
   * before anything is deleted.
   */
  transaction<T>(guard: string, work: () => Promise<T>): Promise<T> {
    const database = this.#parts.database();
    const users = this.tableOf(guard)?.connection ?? database.connection();
    if (users === database.connection()) return database.transaction(work);
    return database.transaction(() => users.transaction(work));
  }

  /**
   * The guard that a user is mailed about: the request's active one, otherwise the default guard, otherwise the first that
   * has the user.
   *
   * @throws `E_INVALID_CONFIGURATION` if none has
   */
  guardOf(user: AccountUser, { auth }: HttpContext): string {
    const guards = [...this.#parts.guards].flatMap(([name, { model }]) =>
      model !== null && isUserOf(user, model) ? [name] : [],
    );
    const wanted = [auth.guardName, this.#parts.defaultGuard];
    const guard = wanted.find((name) => name !== null && guards.includes(name)) ?? guards[0];
    if (guard !== undefined) return guard;
    const problem = `no guard has users of the class ${user.constructor.name}.`;
    throw new ConfigurationError("config/auth.ts: GUARDS", problem, "Write web: { model: User }.");
  }
}
