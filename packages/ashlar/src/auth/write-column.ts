import type { Model, ModelClass } from "../database/index.ts";
import type { AccessConditions } from "./access-epoch.ts";
import type { UserId } from "./authenticatable.ts";

/** The value of a model's primary key. */
export function keyOf(model: Model): UserId {
  const { primaryKey } = model.constructor as ModelClass;
  return (model as unknown as Record<string, UserId>)[primaryKey]!;
}

/** Columns with the values they are to have. */
export type ColumnChanges = Readonly<Record<string, unknown>>;

/**
 * Writes columns of a stored model by one UPDATE, whatever the model believes to be stored; what else was changed on the
 * model stays unsaved.
 *
 * The model is not read again: it must not take over an epoch, or a password, newer than the one a proof was given for.
 *
 * @param conditions what columns of the row must hold for that; `null`: nothing
 * @returns whether the row was there, and as it must be, and so was written
 */
export async function writeColumns(
  model: Model,
  changes: ColumnChanges,
  conditions: AccessConditions = {},
): Promise<boolean> {
  const modelClass = model.constructor as ModelClass;
  let row = modelClass.where(modelClass.primaryKey, keyOf(model));
  for (const [column, value] of Object.entries(conditions)) row = row.where(column, value);
  if ((await row.update(changes)) === 0) return false;
  model.noteStored(changes);
  return true;
}

/** Reads a stored model anew after one column of its row was written; what else was changed on the model stays unsaved. */
export async function reread(model: Model, column: string): Promise<void> {
  const unsaved = Object.entries(model).filter(([name]) => name !== column && model.isDirty(name));
  await model.refresh();
  Object.assign(model, Object.fromEntries(unsaved));
}
