import type { Model } from "../../database/index.ts";
import type { AccountStore, AccountUser } from "../users/account-store.ts";
import type { Authenticatable, AuthenticatableClass } from "../users/authenticatable.ts";
import {
  type AccessConditions,
  type AccessHolder,
  accessEpochOf,
  bothConditions,
  holdsAccess,
  makeAccessEpoch,
  readAgain,
} from "./access-epoch.ts";
import type { AccessProof, StoredAccount } from "./end-access.ts";

/**
 * Writes a new access epoch to a user's row, provided that the proof given for this user still holds. If the class
 * cannot express the basis of the proof as columns, nothing changes, but the result is `true`.
 *
 * @param changes other columns that are set by the same statement: the password, the address
 * @param conditions the values that other columns must have
 * @returns whether it was written
 */
export async function rotateAccess(
  user: Authenticatable,
  proof: AccessProof,
  changes: Readonly<Record<string, unknown>> = {},
  conditions: AccessConditions = {},
): Promise<boolean> {
  if (!holdsAccess(user)) return true;
  const all = { ...user.accessChanges(), ...changes };
  if (proof === "none") return write(user, all, conditions);
  if (await write(user, all, bothConditions(conditions, user.accessConditions()))) return true;
  // A concurrent login may have replaced the hash with another one of the same password, which does not end access.
  const fresh = await readAgain(user.constructor as unknown as AuthenticatableClass, user);
  return fresh !== null && write(user, all, bothConditions(conditions, (fresh as AccessHolder).accessConditions()));
}

/** @param conditions the conditions for the row; `null` if no row can meet them */
async function write(
  user: Authenticatable,
  changes: Readonly<Record<string, unknown>>,
  conditions: AccessConditions | null,
): Promise<boolean> {
  if (conditions === null) return false;
  // The columns that access is based on are known only to the model's mixin.
  return Object.keys(changes).length === 0 || (user as Authenticatable & Model).writeColumns(changes, conditions);
}

/** Writes a user's row to an account store when access ends, like {@link StoredAccount}. */
export function updateEnding<User extends AccountUser>(
  store: AccountStore<User>,
  user: User,
): StoredAccount<User>["update"] {
  return (proof, changes, conditions) => {
    const { accessEpoch = makeAccessEpoch() } = changes;
    const asRead = proof === "user" ? { ...conditions, accessEpoch: accessEpochOf(user) } : conditions;
    return store.update(user, { ...changes, accessEpoch }, asRead);
  };
}
