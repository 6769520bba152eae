import type { Model } from "../database/index.ts";
import { type AccessConditions, type AccessHolder, readAgain } from "./access-epoch.ts";
import type { AuthenticatableClass } from "./authenticatable.ts";
import { type ColumnChanges, writeColumns } from "./write-column.ts";

/** A user of a model that knows the columns that access is based on. */
type StoredHolder = AccessHolder & Model;

/**
 * Ends all access to an account, provided that the proof given for this user still holds.
 *
 * @param changes other columns that are set by the same statement: the password, the address
 * @param conditions the values that other columns must have
 * @returns whether it still held
 */
export async function rotateAccess(
  user: StoredHolder,
  changes: ColumnChanges = {},
  conditions: AccessConditions = {},
): Promise<boolean> {
  const all = { ...user.accessChanges(), ...changes };
  if (await write(user, all, { ...conditions, ...user.accessConditions() })) return true;
  // A concurrent login may have replaced the hash by another one of the same password, which does not end access.
  const fresh = await readAgain(user.constructor as unknown as AuthenticatableClass, user);
  return fresh !== null && write(user, all, { ...conditions, ...(fresh as AccessHolder).accessConditions() });
}

/** In a table without an epoch, there may be nothing to change. */
async function write(user: StoredHolder, changes: ColumnChanges, conditions: AccessConditions): Promise<boolean> {
  return Object.keys(changes).length === 0 || writeColumns(user, changes, conditions);
}
