import { type Database, databaseOf, type Model } from "../database/index.ts";

/** Deletes a user with everything that auth keeps of the user. */
export type DeleteUser = (user: Model, deleteRow: () => Promise<boolean>) => Promise<boolean>;

const byDatabase = new WeakMap<Database, DeleteUser>();

/** Has the users of an application, whose models work on its database, deleted this way. */
export function deleteUsersBy(database: Database, deleteUser: DeleteUser): void {
  byDatabase.set(database, deleteUser);
}

/** How users of a class are deleted; `null` where there is no application. */
export function deletionOf(userClass: object): DeleteUser | null {
  return byDatabase.get(databaseOf(userClass)) ?? null;
}
