import { accessEpochOf, makeAccessEpoch } from "./access-epoch.ts";
import type { AccountChanges, AccountConditions, AccountStore, AccountUser } from "./account-store.ts";
import type { Authenticatable, AuthenticatableClass } from "./authenticatable.ts";
import { accountStoreOf } from "./model-accounts.ts";
import { endAllAccess, rotateAccess } from "./rotate-access.ts";

/**
 * Ends all access to an account, provided that the proof given against this user still holds.
 *
 * @param changes what else is changed by the same statement: the password, the address
 * @param conditions what must be stored besides
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
 * Ends all access to the account of any user, provided that the proof given against the user still holds. Of a class that
 * cannot say what that rests on nothing changes.
 *
 * @param users the class of the user, or what finds it
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

/** Ends all access to the account of any user, whatever it rests on. */
export async function logOutEverywhere(users: AuthenticatableClass, user: Authenticatable): Promise<void> {
  const store = accountStoreOf(users);
  if (store === null) await endAllAccess(user);
  else await store.update(user as AccountUser, { accessEpoch: makeAccessEpoch() }, {});
}
