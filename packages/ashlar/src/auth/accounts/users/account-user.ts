import { AshlarError, type RegisteredUser } from "../../../support/index.ts";
import { accountStoreOf } from "../../models/model-accounts.ts";
import { type AccountStore, type AccountUser, storeMethodsOf } from "../../users/account-store.ts";
import { type AuthenticatableClass, isModel } from "../../users/authenticatable.ts";

/**
 * The accounts of the users that a class, or an object, finds.
 *
 * @param what its name in the message, such as `The model of the guard "web"`
 * @throws `E_INVALID_MODEL` if it is neither a model with the mixin `Authenticates` nor an {@link AccountStore}
 */
export function requireAccountStore(users: AuthenticatableClass, what: string): AccountStore {
  const store = accountStoreOf(users);
  if (store !== null) return store;
  throw new AshlarError("E_INVALID_MODEL", `${what} cannot have accounts. ${remedyFor(users)}`);
}

/** The advice about a model whose users can only log in. */
export function remedyFor(users: object): string {
  const { present, missing } = storeMethodsOf(users);
  if (present.length === 0 || isModel(users)) return "Declare it as class User extends compose(Model, Authenticates).";
  return `As an AccountStore, it also needs ${missing.map((name) => `${name}()`).join(", ")}.`;
}

/**
 * A user as required by accounts.
 *
 * @throws `E_INVALID_MODEL` if the user's class can only log in
 */
export function asAccountUser(user: RegisteredUser): AccountUser {
  const { accessEpoch, email } = user as Partial<AccountUser>;
  if (typeof accessEpoch === "function" && (typeof email === "string" || email === null || "setPassword" in user)) {
    return user as AccountUser;
  }
  const what = `The user's class ${user.constructor.name} cannot have accounts.`;
  throw new AshlarError("E_INVALID_MODEL", `${what} ${remedyFor(user.constructor)}`);
}
