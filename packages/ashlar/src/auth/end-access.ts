import { accessEpochOf, makeAccessEpoch } from "./access-epoch.ts";
import type { AccountChanges, AccountConditions, AccountStore, AccountUser } from "./account-store.ts";
import type { Authenticatable, AuthenticatableClass } from "./authenticatable.ts";
import { accountStoreOf } from "./model-accounts.ts";
import { endAllAccess, rotateAccess } from "./rotate-access.ts";

/**
 * Ends all access to an account, provided that the proof given for this user still holds.
 *
 * @param changes other changes by the same statement: the password, the address
 * @param conditions further conditions on the stored account
 * @returns the user with the changes; `null` if the proof no longer held
 */
export async function endAccessOnProof<User extends AccountUser>(
  store: AccountStore<User>,
  user: User,
  changes: AccountChanges = {},
  conditions: AccountConditions = {},
): Promise<User | null> {
  const accessEpoch = makeAccessEpoch();
  return store.update(user, { ...changes, accessEpoch }, { ...conditions, accessEpoch: accessEpochOf(user) });
}

/**
 * Ends all access to the account of any user, provided that the proof given for the user still holds. If the class
 * cannot express the basis of the proof, nothing changes.
 *
 * @param users the class of the user, or the object that finds it
 * @returns the user with a new epoch; `null` if the proof no longer held
 */
export async function logOutEverywhereOnProof(
  users: AuthenticatableClass,
  user: Authenticatable,
): Promise<Authenticatable | null> {
  const store = accountStoreOf(users);
  if (store !== null) return endAccessOnProof(store, user as AccountUser);
  return (await rotateAccess(user)) ? user : null;
}

/** Ends all access to the account of any user, regardless of any proof. */
export async function logOutEverywhere(users: AuthenticatableClass, user: Authenticatable): Promise<void> {
  const store = accountStoreOf(users);
  if (store === null) await endAllAccess(user);
  else await store.update(user as AccountUser, { accessEpoch: makeAccessEpoch() }, {});
}
