import { type Database, databaseOf } from "../database/index.ts";
import type { Authenticatable } from "./authenticatable.ts";
import { isModel } from "./users-of.ts";

/** Deletes the credentials that a feature stores for a user in a table of its own. It takes part in the transaction. */
export type DeleteCredentials = (user: Authenticatable) => Promise<void>;

/** By the database of the users' models, or by the class of users who are not rows. */
const known = new WeakMap<object, DeleteCredentials>();

/**
 * Sets the function that deletes the credentials of users, when access to an account ends or the user is deleted.
 *
 * @param users the database of the users' models, or the class of users who are not rows
 */
export function deleteCredentialsBy(users: Database | object, deleteCredentials: DeleteCredentials): void {
  known.set(users, deleteCredentials);
}

/** The function that deletes the credentials of a user; `null` if no feature stores any. */
export function credentialDeletionOf(user: object): DeleteCredentials | null {
  const userClass = user.constructor;
  return known.get(isModel(userClass) ? databaseOf(userClass) : userClass) ?? null;
}

/** The `endCredentials` of mixins that remove nothing but columns of the user's row, which `accessChanges()` names. */
const ofRows = new WeakSet<object>();

/** Notes that a method `endCredentials` removes nothing but columns of the user's row. */
export function endsWithRowBy(endCredentials: object): void {
  ofRows.add(endCredentials);
}

/** Reports whether a user's credentials are all columns of the row, or bound to its access epoch. */
export function endsWithRow(user: object): boolean {
  const { endCredentials } = user as { readonly endCredentials?: unknown };
  return typeof endCredentials !== "function" || ofRows.has(endCredentials);
}
