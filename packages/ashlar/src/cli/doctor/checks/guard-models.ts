import { isModel } from "../../../auth/index.ts";
import { isPlainObject } from "../../../support/index.ts";
import type { Subject } from "../subject.ts";
import { tableOf } from "./user-tables.ts";

/** The models of all guards, one for each table of users. Users in an account store have no model. */
export function guardModels(subject: Subject): ReadonlyMap<string, object> {
  const models = new Map<string, object>();
  for (const entry of Object.values(subject.settings("auth", "GUARDS"))) {
    const model = isPlainObject(entry) ? entry.model : undefined;
    const table = tableOf(model);
    if (table !== null && !models.has(table) && isModel(Object(model))) models.set(table, model as object);
  }
  return models;
}
