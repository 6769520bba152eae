import {
  CONFLICT_RETRIES,
  type Connection,
  type Database,
  type Model,
  type ModelClass,
  tableHasColumn,
} from "../../database/index.ts";
import type { AccountUser } from "../account-store.ts";
import type { Authenticatable, UserId } from "../authenticatable.ts";
import type { LoginStores } from "../logins/login-stores.ts";
import { credentialDeletionOf } from "../stored-credentials.ts";
import { isModel } from "../users-of.ts";
import type { EmailChangeTable } from "./email-change-table.ts";
import type { GuardUsers } from "./guard-users.ts";
import type { PasswordResetTable } from "./password-reset-table.ts";

/** The dependencies of {@link UserDeletion}. */
export interface UserDeletionDependencies {
  readonly users: GuardUsers;
  readonly logins: LoginStores;
  readonly resets: PasswordResetTable;
  readonly emailChanges: EmailChangeTable;
  readonly database: () => Database;
}

/** Deletes users with everything that auth stores about them. */
export class UserDeletion {
  readonly #dependencies: UserDeletionDependencies;

  constructor(dependencies: UserDeletionDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Deletes a user, the logins on all devices with their addresses, the links that set a password, and the user's
   * previous addresses. It is one transaction, within the caller's if there is one; if the user's table is on another
   * connection, the user is deleted first, and the rest right after.
   *
   * The row is deleted first. Operations in progress for the user (a login, a link being created) wait for its lock and
   * then find that the user no longer exists; or they have finished by now, and their data is found here.
   *
   * @param deleteRow deletes the user's row, and returns whether it existed
   * @returns the result of `deleteRow`
   */
  async delete(user: Model, deleteRow: () => Promise<boolean>): Promise<boolean> {
    const { users } = this.#dependencies;
    const model = user.constructor as ModelClass;
    const guards = users.guardsKeeping(model);
    const key = user.getOriginal(model.primaryKey as never) as UserId | null | undefined;
    const deleteCredentials = credentialDeletionOf(user);
    if ((guards.length === 0 && deleteCredentials === null) || key === null || key === undefined) return deleteRow();
    const database = this.#dependencies.database();
    const connection = database.connection(model.connection ?? undefined);
    const isOneDatabase = connection === database.connection();
    const options = isOneDatabase ? { retries: CONFLICT_RETRIES } : {};
    return await database.transaction(async () => {
      const take = async () => ({ email: await lockedAddress(connection, model, key), isDeleted: await deleteRow() });
      const { email, isDeleted } = await (isOneDatabase ? take() : connection.transaction(take));
      await this.#forget(guards, key, email);
      await deleteCredentials?.(user as Model & Authenticatable);
      return isDeleted;
    }, options);
  }

  /**
   * Deletes a user of a guard, of any class, with the same data as {@link delete}; see `Accounts.delete`.
   *
   * @throws `E_INVALID_MODEL` if the user's class can only log in
   */
  async ofGuard(guard: string, user: AccountUser): Promise<boolean> {
    const { users } = this.#dependencies;
    const store = users.of(guard);
    // A model deletes the rest itself.
    if (isModel(user.constructor)) return store.delete(user);
    return this.#dependencies.database().transaction(async () => {
      const { email, isDeleted } = await store.transaction(async () => {
        const stored = await store.findByAuthId(user.authId());
        return { email: stored?.email ?? user.email, isDeleted: await store.delete(user) };
      });
      await this.#forget(users.guardsKeeping(user.constructor), user.authId(), email);
      await credentialDeletionOf(user)?.(user);
      return isDeleted;
    });
  }

  /** Deletes what auth stores about a user who no longer exists. */
  async #forget(guards: readonly string[], userId: UserId, email: string | null): Promise<void> {
    const { logins, resets, emailChanges } = this.#dependencies;
    for (const guard of guards) {
      if (logins.has(guard)) await logins.of(guard).endAll({ guard, userId });
    }
    const reserved = await emailChanges.delete(guards, userId, email);
    await resets.delete(guards, email === null ? reserved : [email, ...reserved]);
  }
}

/** The user's stored address, which may be newer than the model. It cannot be changed until the transaction ends. */
async function lockedAddress(users: Connection, model: ModelClass, key: UserId): Promise<string | null> {
  if (!(await tableHasColumn(model, "email"))) return null;
  const query = users.kysely.selectFrom(model.table).select("email").where(model.primaryKey, "=", key);
  const row = await users.dialect.lockRows(query, "change").executeTakeFirst();
  return typeof row?.email === "string" ? row.email : null;
}
