import type { Model, ModelClass } from "../database/index.ts";
import type { UserId } from "./authenticatable.ts";

/** The value of a model's primary key. */
export function keyOf(model: Model): UserId {
  const { primaryKey } = model.constructor as ModelClass;
  return (model as unknown as Record<string, UserId>)[primaryKey]!;
}

/**
 * Writes one column of a stored model by one UPDATE, whatever the model believes to be stored; what else was changed on
 * the model stays unsaved.
 *
 * @param expected what must be stored for that; anything where it is left out
 * @returns whether the row was there, and so was written
 */
export async function writeColumn(
  model: Model,
  column: string,
  value: string | null,
  expected?: string,
): Promise<boolean> {
  const modelClass = model.constructor as ModelClass;
  const row = modelClass.where(modelClass.primaryKey, keyOf(model));
  const written = await (expected === undefined ? row : row.where(column, expected)).update({ [column]: value });
  if (written === 0) return false;
  await reread(model, column);
  return true;
}

/** Reads a stored model anew after one column of its row was written; what else was changed on the model stays unsaved. */
export async function reread(model: Model, column: string): Promise<void> {
  const unsaved = Object.entries(model).filter(([name]) => name !== column && model.isDirty(name));
  await model.refresh();
  Object.assign(model, Object.fromEntries(unsaved));
}
