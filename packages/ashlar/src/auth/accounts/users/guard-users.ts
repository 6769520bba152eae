import { CONFLICT_RETRIES, type Connection, type Database } from "../../../database/index.ts";
import type { HttpContext } from "../../../http/index.ts";
import type { PasswordHasher } from "../../../security/index.ts";
import { AshlarError, ConfigurationError } from "../../../support/index.ts";
import type { GuardEntry } from "../../guards/guard-settings.ts";
import { isJoinable, type UserModelClass } from "../../models/joinable-users.ts";
import { accountStoreOf, existingUsers, ModelAccounts, type ModelUser } from "../../models/model-accounts.ts";
import { hashNewPassword } from "../../passwords/new-password.ts";
import { isPasswordOf } from "../../passwords/verify-credentials.ts";
import type { AccountStore, AccountUser, NewAccount } from "../../users/account-store.ts";
import {
  type AuthenticatableClass,
  closedColumnOf,
  isModel,
  isUserOf,
  keepsSameRows,
} from "../../users/authenticatable.ts";
import type { AccountPages } from "../links/account-pages.ts";
import { remedyFor, requireAccountStore } from "./account-user.ts";

/** The pages of `Auth.routes` that concern accounts, not just logins. */
const ACCOUNT_PAGES: readonly string[] = [
  "register.store",
  "change_password.store",
  "password_reset.store",
  "email.verify",
  "account.password.store",
  "account.email.store",
  "email.undo",
];

/** The table of a guard's users. */
export interface UserTable {
  readonly connection: Connection;
  readonly table: string;
  readonly primaryKey: string;
  /** The column that is not empty once an account is closed; `null` if accounts are never closed. */
  readonly closedColumn: string | null;
}

/** The dependencies of {@link GuardUsers}. */
export interface GuardUsersDependencies {
  readonly guards: ReadonlyMap<string, GuardEntry>;
  /** The name of a request's initial guard; `null` if the configuration doesn't name one. */
  readonly defaultGuard: string | null;
  /** Hashes the users' passwords. */
  readonly hasher: PasswordHasher;
  /** Returns the application's database, which may not exist before it is used. */
  readonly database: () => Database;
}

/** The users of each configured guard, and their accounts. */
export class GuardUsers {
  readonly #dependencies: GuardUsersDependencies;

  constructor(dependencies: GuardUsersDependencies) {
    this.#dependencies = dependencies;
  }

  /** The names of the guards. */
  get guards(): readonly string[] {
    return [...this.#dependencies.guards.keys()];
  }

  /** The models of the guards that name one. */
  get models(): readonly object[] {
    return [...this.#dependencies.guards.values()].flatMap(({ model }) => (model === null ? [] : [model]));
  }

  /** The class of a guard's users, or the object that finds them; `null` if the configuration doesn't name one. */
  modelOf(guard: string): AuthenticatableClass | null {
    return this.#dependencies.guards.get(guard)?.model ?? null;
  }

  /**
   * The accounts of a guard's users.
   *
   * @throws `E_INVALID_CONFIGURATION` if the guard doesn't name one; `E_INVALID_MODEL` if it cannot have accounts
   */
  of(guard: string): AccountStore {
    const model = this.modelOf(guard);
    if (model !== null) return requireAccountStore(model, `The model of the guard "${guard}"`);
    const remedy = `Name the class of the users: ${guard}: { model: User }.`;
    throw new ConfigurationError(`config/auth.ts: GUARDS.${guard}`, "its users cannot have accounts.", remedy);
  }

  /**
   * Makes sure that the users of each guard can have accounts if there are pages for that.
   *
   * @throws `E_INVALID_MODEL`, `E_INVALID_CONFIGURATION`
   */
  check(pages: AccountPages): void {
    for (const [guard, { model }] of this.#dependencies.guards) {
      const page = ACCOUNT_PAGES.find((name) => pages.isOwn(guard, name));
      if (page === undefined || this.storeOf(guard) !== null) continue;
      const where = `config/auth.ts: GUARDS.${guard}.model`;
      const problem = `its users can log in, but not have accounts, which the route "${pages.nameOf(guard, page)}" requires.`;
      const remedy = `${remedyFor(model ?? {})} Or set an AccountStore, or leave the routes out: Auth.routes(controllers, { register: false, … }).`;
      throw new ConfigurationError(where, problem, remedy, "E_INVALID_MODEL");
    }
  }

  /** Like {@link of}, for a guard named in a link; `null` if the guard no longer exists. */
  named(guard: string): AccountStore | null {
    return this.#dependencies.guards.has(guard) ? this.of(guard) : null;
  }

  /** The guards whose users are rows of a model's table, even if they have another class. */
  guardsKeeping(model: object): readonly string[] {
    return [...this.#dependencies.guards].flatMap(([name, { model: other }]) =>
      other !== null && keepsSameRows(model, other) ? [name] : [],
    );
  }

  /**
   * A user of a guard, as required by accounts.
   *
   * Security: changes find the user by key, and in another table, the same key belongs to another user.
   *
   * @throws `E_INVALID_MODEL` if the user is of another class than the guard's users, or these can only log in;
   * `E_INVALID_CONFIGURATION` if the guard names no model
   */
  requireOwn(guard: string, user: object): AccountUser {
    const store = this.of(guard);
    if (isUserOf(user, store)) return user as AccountUser;
    const problem = `The guard "${guard}" has users of the class ${store.name}, not ${user.constructor.name}.`;
    throw new AshlarError("E_INVALID_MODEL", problem);
  }

  /** The table of a guard's users; `null` if the guard doesn't exist, or its users are not rows of a model. */
  tableOf(guard: string): UserTable | null {
    const model: object | null = this.modelOf(guard);
    if (model === null || !isModel(model)) return null;
    const connection = this.#dependencies.database().connection(model.connection ?? undefined);
    return { connection, table: model.table, primaryKey: model.primaryKey, closedColumn: closedColumnOf(model) };
  }

  /**
   * Like {@link tableOf}, for a statement that also uses one of auth's tables. Also `null` if the table is on another
   * connection.
   */
  tableBesideAuth(guard: string): UserTable | null {
    const users = this.tableOf(guard);
    return users?.connection === this.#dependencies.database().connection() ? users : null;
  }

  /** The class of a guard's users, for a statement that joins their table with one of auth's; `null` if none can. */
  joinableModelOf(guard: string): UserModelClass | null {
    const model = this.modelOf(guard);
    return model !== null && isJoinable(this.#dependencies.database(), model) ? model : null;
  }

  /**
   * Reports whether {@link transaction} commits a guard's users together with the tables of auth. The database of an
   * application's own store is unknown, so for its users this is always `false`.
   */
  commitWithAuth(guard: string): boolean {
    return this.tableBesideAuth(guard) !== null;
  }

  /**
   * Runs work in a transaction of the application's database, and of the guard's users if they are in another one: if
   * the work throws, both are rolled back. The users' transaction commits first, so that the user has already changed
   * when logins and other access are deleted. Until the other one commits, no other request sees its writes.
   */
  transaction<T>(guard: string, work: () => Promise<T>): Promise<T> {
    const database = this.#dependencies.database();
    // If there are two databases, one may have committed already, so nothing is repeated.
    if (this.commitWithAuth(guard)) return database.transaction(work, { retries: CONFLICT_RETRIES });
    const store = this.storeOf(guard);
    // Users who can only log in never change.
    if (store === null) return database.transaction(work);
    return database.transaction(() => store.transaction(work));
  }

  /**
   * Returns which of the given keys or addresses a guard's users have, as text; `null` if that cannot be determined.
   */
  async existing(
    guard: string,
    attribute: "id" | "email",
    values: readonly unknown[],
  ): Promise<readonly string[] | null> {
    const model = this.modelOf(guard);
    return model === null ? null : existingUsers(model, attribute, values);
  }

  /**
   * The hash of a user's new password.
   *
   * @throws `E_INVALID_INPUT` under `password`; `E_OVERLOADED`
   */
  hashPasswordOf(guard: string, user: AccountUser, plain: unknown): Promise<string> {
    const store: object = this.of(guard);
    if (store instanceof ModelAccounts) return store.hashPasswordOf(user as unknown as ModelUser, plain);
    const { hasher } = this.#dependencies;
    return hashNewPassword(
      plain,
      (password) => isPasswordOf(hasher, user, password),
      (password) => hasher.hash(password),
    );
  }

  /**
   * The hash of the password of a user who is being registered.
   *
   * @param email `null` if it is not valid
   * @throws the errors of {@link hashPasswordOf}
   */
  hashFirstPassword(
    guard: string,
    attributes: NewAccount["attributes"],
    email: string | null,
    plain: unknown,
  ): Promise<string> {
    const store: object = this.of(guard);
    if (store instanceof ModelAccounts) return store.hashFirstPassword(attributes, email, plain);
    const isCurrent = async () => false;
    return hashNewPassword(plain, isCurrent, (password) => this.#dependencies.hasher.hash(password));
  }

  /**
   * The guard whose pages a user's mail links to: the request's active guard, or else the default guard, or else the
   * first guard that has the user.
   *
   * @throws `E_INVALID_CONFIGURATION` if no guard has the user
   */
  guardOf(user: AccountUser, { auth }: HttpContext): string {
    const guards = [...this.#dependencies.guards].flatMap(([name, { model }]) =>
      model !== null && isUserOf(user, model) ? [name] : [],
    );
    const wanted = [auth.guardName, this.#dependencies.defaultGuard];
    const guard = wanted.find((name) => name !== null && guards.includes(name)) ?? guards[0];
    if (guard !== undefined) return guard;
    const problem = `no guard has users of the class ${user.constructor.name}.`;
    throw new ConfigurationError("config/auth.ts: GUARDS", problem, "Write web: { model: User }.");
  }

  /** The accounts of a guard's users; `null` if they can only log in, or the configuration names no model. */
  storeOf(guard: string): AccountStore | null {
    const model = this.modelOf(guard);
    return model === null ? null : accountStoreOf(model);
  }
}
