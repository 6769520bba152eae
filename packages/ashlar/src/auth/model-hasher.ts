import { type Database, databaseIfAny } from "../database/index.ts";
import { DEFAULT_HASHER, type PasswordHasher } from "../security/index.ts";

const byDatabase = new WeakMap<Database, PasswordHasher>();

/** Has the users of an application, whose models work on its database, hash their passwords by its hasher. */
export function hashPasswordsBy(database: Database, hasher: PasswordHasher): void {
  byDatabase.set(database, hasher);
}

/** What hashes the passwords of users of a class; the usual hasher if there is no application. */
export function hasherOf(userClass: object): PasswordHasher {
  const database = databaseIfAny(userClass);
  return (database !== null && byDatabase.get(database)) || DEFAULT_HASHER;
}
