import { Model, type ModelClass } from "../../database/index.ts";
import { AshlarError, type RegisteredUser } from "../../support/index.ts";
import type { AuthenticatesInstance, AuthenticatesStatics } from "../authenticates.ts";
import type { MustVerifyEmailInstance } from "./must-verify-email.ts";

/** A user as accounts need one: a model with the mixin `Authenticates` and a column `email`. */
export type AccountUser = Model & AuthenticatesInstance & { email: string };

/** The class of such users. */
export type AccountModel = ModelClass<AccountUser> & AuthenticatesStatics;

/**
 * A class as the model of accounts.
 *
 * @param what what it is, for the message, such as `The model of the guard "web"`
 * @throws `E_INVALID_MODEL` where it is no model, or lacks the mixin `Authenticates`
 */
export function asAccountModel(modelClass: unknown, what: string): AccountModel {
  const prototype = typeof modelClass === "function" ? (modelClass.prototype as Record<string, unknown>) : null;
  if (prototype instanceof Model && "setPassword" in prototype) return modelClass as AccountModel;
  const remedy = "Declare it as class User extends compose(Model, Authenticates).";
  throw new AshlarError("E_INVALID_MODEL", `${what} cannot have accounts. ${remedy}`);
}

/**
 * A user as accounts need one.
 *
 * @throws `E_INVALID_MODEL` as {@link asAccountModel}
 */
export function asAccountUser(user: RegisteredUser): AccountUser {
  asAccountModel(user.constructor, `The user's class ${user.constructor.name}`);
  return user as AccountUser;
}

/** Tells whether a user's class has the mixin `MustVerifyEmail`. */
export function isVerifiable<U extends object>(user: U): user is U & MustVerifyEmailInstance {
  const { hasVerifiedEmail, verifyEmail } = user as Partial<MustVerifyEmailInstance>;
  return typeof hasVerifiedEmail === "function" && typeof verifyEmail === "function";
}
