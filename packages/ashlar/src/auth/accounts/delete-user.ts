import { type Connection, type Model, type ModelClass, tableHasColumn } from "../../database/index.ts";
import type { UserId } from "../authenticatable.ts";
import type { AccountService } from "./account-service.ts";

/**
 * Deletes a user with everything that auth keeps of the user: the logins on all devices with their addresses, the links
 * that set a password, and the addresses that the user had before. One transaction, within the caller's if there is one;
 * where the user's table is on another connection, the user is deleted first, and the rest right after.
 *
 * The row goes first: what is under way for the user (a login, a link being made) waits for its lock, and then finds
 * that there is no such user, or is done by now, and is found here.
 *
 * @param deleteRow deletes the user's row, and tells whether it was there
 * @returns what that tells
 */
export async function deleteUser(
  service: AccountService,
  user: Model,
  deleteRow: () => Promise<boolean>,
): Promise<boolean> {
  const model = user.constructor as ModelClass;
  const guards = service.guardsKeeping(model);
  const key = user.getOriginal(model.primaryKey as never) as UserId | null | undefined;
  if (guards.length === 0 || key === null || key === undefined) return deleteRow();
  const { database } = service;
  const users = database.connection(model.connection ?? undefined);
  return await database.transaction(async () => {
    const take = async () => ({ email: await lockedAddress(users, model, key), isDeleted: await deleteRow() });
    const { email, isDeleted } = await (users === database.connection() ? take() : users.transaction(take));
    for (const guard of guards) {
      if (service.keepsLogins(guard)) await service.logins.of(guard).endAll({ guard, userId: key });
    }
    const reserved = await service.emailChanges.delete(guards, key, email);
    await service.resets.delete(guards, email === null ? reserved : [email, ...reserved]);
    return isDeleted;
  });
}

/** The user's address as it is stored, which may be newer than the model; nobody can change it from then on. */
async function lockedAddress(users: Connection, model: ModelClass, key: UserId): Promise<string | null> {
  if (!(await tableHasColumn(model, "email"))) return null;
  const query = users.kysely.selectFrom(model.table).select("email").where(model.primaryKey, "=", key);
  const row = await users.dialect.lockRows(query, "change").executeTakeFirst();
  return typeof row?.email === "string" ? row.email : null;
}
