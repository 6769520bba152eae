import type { Model } from "../../database/index.ts";
import type { Authenticatable, AuthenticatableClass } from "../users/authenticatable.ts";
import { type AccessConditions, type AccessHolder, bothConditions, holdsAccess, readAgain } from "./access-epoch.ts";
import { type ColumnChanges, writeColumns } from "./write-column.ts";

/**
 * Ends all access to an account, provided that the proof given for this user still holds. If the class cannot express
 * the basis of the proof as columns, nothing changes.
 *
 * @param changes other columns that are set by the same statement: the password, the address
 * @param conditions the values that other columns must have
 * @returns whether it still held
 */
export async function rotateAccess(
  user: Authenticatable,
  changes: ColumnChanges = {},
  conditions: AccessConditions = {},
): Promise<boolean> {
  if (!holdsAccess(user)) return true;
  const all = { ...user.accessChanges(), ...changes };
  if (await write(user, all, bothConditions(conditions, user.accessConditions()))) return true;
  // A concurrent login may have replaced the hash by another one of the same password, which does not end access.
  const fresh = await readAgain(user.constructor as unknown as AuthenticatableClass, user);
  return fresh !== null && write(user, all, bothConditions(conditions, (fresh as AccessHolder).accessConditions()));
}

/** Ends all access to an account, regardless of any proof; see {@link rotateAccess}. */
export async function endAllAccess(user: Authenticatable): Promise<void> {
  if (holdsAccess(user)) await write(user, user.accessChanges(), {});
}

/** @param conditions `null`: no row meets them */
async function write(
  user: Authenticatable,
  changes: ColumnChanges,
  conditions: AccessConditions | null,
): Promise<boolean> {
  if (conditions === null) return false;
  // Only the mixin of a model knows the columns that access is based on.
  return Object.keys(changes).length === 0 || writeColumns(user as Authenticatable & Model, changes, conditions);
}
