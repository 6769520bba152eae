import {
  CONFLICT_RETRIES,
  type Connection,
  type Database,
  type Model,
  type ModelClass,
  tableHasColumn,
} from "../../../database/index.ts";
import type { Events } from "../../../events/index.ts";
import { applicationAccessOf } from "../../access/application-access.ts";
import { announceEnd } from "../../access/end-access.ts";
import type { AccountUser } from "../../users/account-store.ts";
import { type Authenticatable, isModel, type UserId } from "../../users/authenticatable.ts";
import type { UserDataRegistry } from "../../users/user-data.ts";
import type { GuardUsers } from "../users/guard-users.ts";

/** The dependencies of {@link UserDeletion}. */
export interface UserDeletionDependencies {
  readonly users: GuardUsers;
  /** What auth and other features store about users. */
  readonly userData: UserDataRegistry;
  readonly database: () => Database;
  /** Returns the application's events; `null` if it has none. */
  readonly events: () => Events | null;
}

/** Deletes users with everything that features store about them. */
export class UserDeletion {
  readonly #dependencies: UserDeletionDependencies;

  constructor(dependencies: UserDeletionDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Deletes a user, the logins on all devices with their addresses, the links that set a password, the user's previous
   * addresses, and what other features have declared. It is one transaction, within the caller's if there is one; if the
   * user's table is on another connection, the user is deleted first, and the rest right after.
   *
   * The row is locked first. Operations in progress for the user, such as a login, either wait for the lock and then
   * find that the user no longer exists, or have already finished, so their data is deleted here. The user's row is
   * deleted last, because rows of features may refer to it.
   *
   * @param deleteRow deletes the user's row, and returns whether it existed
   * @returns the result of `deleteRow`
   */
  async delete(user: Model, deleteRow: () => Promise<boolean>): Promise<boolean> {
    const { userData, users } = this.#dependencies;
    const model = user.constructor as ModelClass;
    const guards = users.guardsKeeping(model);
    const key = user.getOriginal(model.primaryKey as never) as UserId | null | undefined;
    // Users of a class that neither logs in nor has tokens are a separate set.
    const isKnown = guards.length > 0 || (applicationAccessOf(user)?.hasFeatures ?? false);
    if (!isKnown || key === null || key === undefined) return deleteRow();
    const database = this.#dependencies.database();
    const connection = database.connection(model.connection ?? undefined);
    const isOneDatabase = connection === database.connection();
    const options = isOneDatabase ? { retries: CONFLICT_RETRIES } : {};
    const isDeleted = await database.transaction(async () => {
      const erase = (email: string | null) => {
        return userData.erase({ user: user as Model & Authenticatable, id: key, guards, email });
      };
      if (isOneDatabase) {
        await erase(await lockedAddress(connection, model, key));
        return deleteRow();
      }
      const take = async () => ({ email: await lockedAddress(connection, model, key), isDeleted: await deleteRow() });
      const { email, isDeleted } = await connection.transaction(take);
      await erase(email);
      return isDeleted;
    }, options);
    this.#announce(user, guards, isDeleted);
    return isDeleted;
  }

  /**
   * Locks a user's row until the transaction ends, so that data read about the user afterwards stays valid. Users of an
   * `AccountStore` can't be locked.
   */
  async lock(user: AccountUser): Promise<void> {
    const model = user.constructor as ModelClass;
    if (!isModel(model)) return;
    const connection = this.#dependencies.database().connection(model.connection ?? undefined);
    await lockedAddress(connection, model, user.authId());
  }

  /**
   * Deletes a user of a guard, of any class, with the same data as {@link delete}; see `Accounts.delete`.
   *
   * @param claim called first, in the same transaction; if it returns `false`, nothing is deleted
   * @throws `E_INVALID_MODEL` if the user's class can only log in
   */
  async ofGuard(guard: string, user: AccountUser, claim?: () => Promise<boolean>): Promise<boolean> {
    const { userData, users } = this.#dependencies;
    const store = users.of(guard);
    // A model deletes the rest itself.
    if (isModel(user.constructor)) {
      if (claim === undefined) return store.delete(user);
      return users.transaction(guard, async () => (await claim()) && store.delete(user));
    }
    const guards = users.guardsKeeping(user.constructor);
    const isDeleted = await this.#dependencies.database().transaction(async () => {
      const { email, isDeleted } = await store.transaction(async () => {
        if (claim !== undefined && !(await claim())) return { email: null, isDeleted: null };
        const stored = await store.findByAuthId(user.authId());
        return { email: stored?.email ?? user.email, isDeleted: await store.delete(user) };
      });
      if (isDeleted === null) return false;
      await userData.erase({ user, id: user.authId(), guards, email });
      return isDeleted;
    });
    this.#announce(user, guards, isDeleted);
    return isDeleted;
  }

  #announce(user: object, guards: readonly string[], isDeleted: boolean): void {
    const audience = { events: this.#dependencies.events(), address: null, guard: guards[0] ?? null };
    if (isDeleted) announceEnd(audience, user, "everything", "deleted");
  }
}

/** The user's stored address, which may be newer than the model. It cannot be changed until the transaction ends. */
async function lockedAddress(users: Connection, model: ModelClass, key: UserId): Promise<string | null> {
  const columns = [model.primaryKey, ...((await tableHasColumn(model, "email")) ? ["email"] : [])];
  const query = users.kysely.selectFrom(model.table).select(columns).where(model.primaryKey, "=", key);
  const row = await users.dialect.transactions.lockRows(query, "change").executeTakeFirst();
  return typeof row?.email === "string" ? row.email : null;
}
