import type { Model, ModelClass } from "../../database/index.ts";
import { keyOf } from "../users/authenticatable.ts";
import type { AccessConditions } from "./access-epoch.ts";

/** Columns with their new values. */
export type ColumnChanges = Readonly<Record<string, unknown>>;

/**
 * Writes columns of a stored model with one UPDATE, even if the model already has these values; other changes to the
 * model stay unsaved.
 *
 * The model is not read again: it must not pick up an epoch or a password that is newer than the proof.
 *
 * @param conditions the values that columns of the row must have; default: no conditions
 * @returns whether the row existed, met the conditions, and was therefore written
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

/** Reads a stored model again after one column of its row was written; other changes to the model stay unsaved. */
export async function reread(model: Model, column: string): Promise<void> {
  const unsaved = Object.entries(model).filter(([name]) => name !== column && model.isDirty(name));
  await model.refresh();
  Object.assign(model, Object.fromEntries(unsaved));
}
