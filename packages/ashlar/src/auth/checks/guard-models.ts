import { type ModelClass, metadataOf } from "../../database/index.ts";
import { isPlainObject } from "../../support/index.ts";
import { isModel } from "../users/authenticatable.ts";

/**
 * The models of all guards, one for each table of users. Users in an account store have no model.
 *
 * @param guards the guards in `config/auth.ts`, as they are written there
 */
export function guardModels(guards: Readonly<Record<string, unknown>>): ReadonlyMap<string, object> {
  const models = new Map<string, object>();
  for (const entry of Object.values(guards)) {
    const model = isPlainObject(entry) ? entry.model : undefined;
    const table = tableOf(model);
    if (table !== null && !models.has(table) && isModel(Object(model))) models.set(table, model as object);
  }
  return models;
}

/** The table of a model's class; `null` if it is not a model. */
export function tableOf(model: unknown): string | null {
  const { table } = Object(model) as { readonly table?: unknown };
  if (typeof table === "string") return table;
  try {
    return metadataOf(model as ModelClass).table;
  } catch {
    return null;
  }
}
