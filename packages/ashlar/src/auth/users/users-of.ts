import { haveSameTable, Model, type ModelClass } from "../../database/index.ts";
import { type UserClass, userClassOf } from "./authenticatable.ts";

/**
 * Reports whether users of a class are users of a guard's model: the model itself, or a class that extends it and keeps
 * its rows in the same table of the same connection, such as a role with its own methods.
 *
 * A class that merely extends the model is not enough. A guard, a token and a link each store a primary key, and the
 * key of another table belongs to a different user. Classes that are not models have no table to compare, so only the
 * very same class passes; an object that finds users has the class that it names.
 */
export function isUserClassOf(userClass: unknown, model: object): boolean {
  const own = userClassOf(model);
  if (userClass === own) return true;
  if (typeof userClass !== "function" || !(userClass.prototype instanceof (own as UserClass))) return false;
  return keepsSameRows(userClass, own);
}

/** Reports whether a user is one of a guard's model, as {@link isUserClassOf} does for the user's class. */
export function isUserOf(user: object, model: object): boolean {
  return isUserClassOf(user.constructor, model);
}

/**
 * Reports whether two classes are models of one table, so that a primary key means the same row to both. Objects that
 * find users are compared by the class of these users.
 */
export function keepsSameRows(one: object, other: object): boolean {
  const [own, others] = [userClassOf(one), userClassOf(other)];
  return own === others || (isModel(own) && isModel(others) && haveSameTable(own, others));
}

/** Reports whether a class is a model, and therefore has a table. */
export function isModel(value: object): value is ModelClass {
  return (value as { readonly prototype?: unknown }).prototype instanceof Model;
}
