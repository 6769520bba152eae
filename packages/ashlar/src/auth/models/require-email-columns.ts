import type { Application } from "../../boot/index.ts";
import { columnsOf } from "../../database/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import { isModel } from "../users/authenticatable.ts";

/**
 * Makes sure that users who can log in with their address have a column for it: without one, each attempt with an address
 * would fail in the database. A table that doesn't exist passes, because its migration may not have been run yet.
 *
 * @throws `E_INVALID_MODEL`
 */
export async function requireEmailColumns(application: Application): Promise<void> {
  const { container } = application;
  if (application.isInspected || !container.has("database")) return;
  const guards = container.make("auth");
  for (const name of guards.names) {
    const model: object = guards.modelOf(name)!;
    if (!isModel(model) || (model as { readonly identifiesByEmail?: unknown }).identifiesByEmail !== true) continue;
    const connection = container.make("database").connection(model.connection ?? undefined);
    const columns = await columnsOf(connection, model.table);
    if (columns.size === 0 || columns.has("email")) continue;
    const where = `The class ${model.name} of the guard "${name}"`;
    const problem = `identifiesByEmail is true, but the table ${model.table} has no column email.`;
    const remedy = "Add the column in a migration, or leave identifiesByEmail out.";
    throw new ConfigurationError(where, problem, remedy, "E_INVALID_MODEL");
  }
}
