import { accessEpochOf, endCredentials, makeAccessEpoch } from "../access/access-epoch.ts";
import { endAllAccess, rotateAccess } from "../access/rotate-access.ts";
import type { AccountChanges, AccountConditions, AccountStore, AccountUser } from "../users/account-store.ts";
import type { Authenticatable, AuthenticatableClass } from "../users/authenticatable.ts";
import { accountStoreOf } from "./model-accounts.ts";

/**
 * Ends all access to an account, provided that the proof given for this user still holds: changes the epoch, and removes
 * the credentials that features or the user's class have given the user. Call it in a transaction.
 *
 * @param changes other changes by the same statement: the password, the address; an epoch instead of a random one
 * @param conditions further conditions on the stored account
 * @returns the user with the changes; `null` if the proof no longer held
 */
export async function endAccessOnProof<User extends AccountUser>(
  store: AccountStore<User>,
  user: User,
  changes: AccountChanges = {},
  conditions: AccountConditions = {},
): Promise<User | null> {
  const { accessEpoch = makeAccessEpoch() } = changes;
  const asRead = { ...conditions, accessEpoch: accessEpochOf(user) };
  return withoutCredentials(await store.update(user, { ...changes, accessEpoch }, asRead));
}

/**
 * Ends all access to an account, as {@link endAccessOnProof}, but regardless of any proof.
 *
 * @returns the user with the changes; `null` if the account does not exist
 */
export async function endAccess<User extends AccountUser>(
  store: AccountStore<User>,
  user: User,
  changes: AccountChanges = {},
): Promise<User | null> {
  return withoutCredentials(await store.update(user, { ...changes, accessEpoch: makeAccessEpoch() }, {}));
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
  return withoutCredentials((await rotateAccess(user)) ? user : null);
}

/** Ends all access to the account of any user, as {@link logOutEverywhereOnProof}, but regardless of any proof. */
export async function logOutEverywhere(users: AuthenticatableClass, user: Authenticatable): Promise<void> {
  const store = accountStoreOf(users);
  if (store !== null) {
    await endAccess(store, user as AccountUser);
    return;
  }
  await endAllAccess(user);
  await endCredentials(user);
}

/** Removes the credentials of a user whose access has ended; `null`: it did not end. */
async function withoutCredentials<User extends Authenticatable>(user: User | null): Promise<User | null> {
  if (user !== null) await endCredentials(user);
  return user;
}
