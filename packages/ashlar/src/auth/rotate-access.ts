import type { Model } from "../database/index.ts";
import { type AccessConditions, holdsAccess } from "./access-epoch.ts";
import type { Authenticatable } from "./authenticatable.ts";
import { type ColumnChanges, writeColumns } from "./write-column.ts";

/**
 * Ends all access to an account, provided that the proof given against this user still holds. Of a class that cannot say
 * what that rests on nothing changes.
 *
 * @param changes other columns that are set by the same statement: the password, the address
 * @returns whether it still held
 */
export async function rotateAccess(user: Authenticatable, changes: ColumnChanges = {}): Promise<boolean> {
  return holdsAccess(user) ? write(user, { ...user.accessChanges(), ...changes }, user.accessConditions()) : true;
}

/** Ends all access to an account, whatever it rests on; see {@link rotateAccess}. */
export async function endAllAccess(user: Authenticatable): Promise<void> {
  if (holdsAccess(user)) await write(user, user.accessChanges(), {});
}

async function write(user: Authenticatable, changes: ColumnChanges, conditions: AccessConditions): Promise<boolean> {
  // Only the mixin of a model says what access rests on.
  return Object.keys(changes).length === 0 || writeColumns(user as Authenticatable & Model, changes, conditions);
}
