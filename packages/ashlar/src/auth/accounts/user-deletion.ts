import { type Connection, type Database, type Model, type ModelClass, tableHasColumn } from "../../database/index.ts";
import type { UserId } from "../authenticatable.ts";
import type { LoginStores } from "../logins/login-stores.ts";
import type { EmailChangeTable } from "./email-change-table.ts";
import type { GuardUsers } from "./guard-users.ts";
import type { PasswordResetTable } from "./password-reset-table.ts";

/** What {@link UserDeletion} works with. */
export interface UserDeletionParts {
  readonly users: GuardUsers;
  readonly logins: LoginStores;
  readonly resets: PasswordResetTable;
  readonly emailChanges: EmailChangeTable;
  readonly database: () => Database;
}

/** Deletes users with everything that auth keeps of them. */
export class UserDeletion {
  readonly #parts: UserDeletionParts;

  constructor(parts: UserDeletionParts) {
    this.#parts = parts;
  }

  /**
   * Deletes a user, the logins on all devices with their addresses, the links that set a password, and the addresses that
   * the user had before. One transaction, within the caller's if there is one; if the user's table is on another
   * connection, the user is deleted first, and the rest right after.
   *
   * The row goes first: what is under way for the user (a login, a link being made) waits for its lock, and then finds
   * that there is no such user, or is done by now, and is found here.
   *
   * @param deleteRow deletes the user's row, and tells whether it was there
   * @returns what that tells
   */
  async delete(user: Model, deleteRow: () => Promise<boolean>): Promise<boolean> {
    const { users, logins, resets, emailChanges } = this.#parts;
    const model = user.constructor as ModelClass;
    const guards = users.guardsKeeping(model);
    const key = user.getOriginal(model.primaryKey as never) as UserId | null | undefined;
    if (guards.length === 0 || key === null || key === undefined) return deleteRow();
    const database = this.#parts.database();
    const connection = database.connection(model.connection ?? undefined);
    return await database.transaction(async () => {
      const take = async () => ({ email: await lockedAddress(connection, model, key), isDeleted: await deleteRow() });
      const { email, isDeleted } = await (connection === database.connection() ? take() : connection.transaction(take));
      for (const guard of guards) {
        if (logins.has(guard)) await logins.of(guard).endAll({ guard, userId: key });
      }
      const reserved = await emailChanges.delete(guards, key, email);
      await resets.delete(guards, email === null ? reserved : [email, ...reserved]);
      return isDeleted;
    });
  }
}

/** The user's address as it is stored, which may be newer than the model. It cannot be changed from then on. */
async function lockedAddress(users: Connection, model: ModelClass, key: UserId): Promise<string | null> {
  if (!(await tableHasColumn(model, "email"))) return null;
  const query = users.kysely.selectFrom(model.table).select("email").where(model.primaryKey, "=", key);
  const row = await users.dialect.lockRows(query, "change").executeTakeFirst();
  return typeof row?.email === "string" ? row.email : null;
}
