import { type Database, Model, type ModelClass } from "../../database/index.ts";
import { type Authenticatable, type AuthenticatableClass, closedColumnOf, isModel } from "../users/authenticatable.ts";
import { findsByPrimaryKey } from "./authenticates.ts";

/** A class of users who are rows. */
export type UserModelClass = ModelClass<Model & Authenticatable> & AuthenticatableClass;

/** Reports whether a class keeps its users in a table next to those of auth, so that one statement can use both. */
export function standsBesideAuth(database: Database, model: AuthenticatableClass): model is UserModelClass {
  return isModel(model) && (model.connection === null || model.connection === database.settings.default);
}

/**
 * Reports whether a query that joins the table of a class's users reads the same rows as the class itself would: they
 * are rows next to the tables of auth, found by their primary key and nothing else.
 */
export function isJoinable(database: Database, model: AuthenticatableClass): model is UserModelClass {
  if (!standsBesideAuth(database, model)) return false;
  if (closedColumnOf(model) !== null) return false;
  // If a class finds its users in its own way, for example without banned ones, its methods have to be called.
  return findsByPrimaryKey(model) && model.find === Model.find && model.fromRow === Model.fromRow;
}
