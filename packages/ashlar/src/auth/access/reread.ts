import type { Model } from "../../database/index.ts";

/** Reads a stored model again after one column of its row was written; other changes to the model stay unsaved. */
export async function reread(model: Model, column: string): Promise<void> {
  const unsaved = Object.entries(model).filter(([name]) => name !== column && model.isDirty(name));
  await model.refresh();
  Object.assign(model, Object.fromEntries(unsaved));
}
