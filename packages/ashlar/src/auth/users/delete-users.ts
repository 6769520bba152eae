import { type Database, databaseOf, type Model } from "../../database/index.ts";

/** Deletes a user with everything that auth stores about them. */
export type DeleteUser = (user: Model, deleteRow: () => Promise<boolean>) => Promise<boolean>;

const byDatabase = new WeakMap<Database, DeleteUser>();

/** Sets the function that deletes users of an application, whose models use its database. */
export function deleteUsersBy(database: Database, deleteUser: DeleteUser): void {
  byDatabase.set(database, deleteUser);
}

/** The function that deletes users of a class; `null` if there is no application. */
export function deletionOf(userClass: object): DeleteUser | null {
  return byDatabase.get(databaseOf(userClass)) ?? null;
}
