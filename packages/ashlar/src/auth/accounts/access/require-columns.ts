import { type ModelClass, tableHasColumn } from "../../../database/index.ts";
import { AshlarError } from "../../../support/index.ts";
import type { ModelUser } from "../../models/model-accounts.ts";
import { type AuthenticatesStatics, requireEpoch } from "../../models/user-model.ts";
import type { AccountUser } from "../../users/account-store.ts";

/** A change to accounts that needs a column with a time. */
export interface TimedChange {
  /** What can't be done without the column: `blocked`. */
  readonly what: "blocked" | "closed";
  /** The name of the setting of the class that names the column. */
  readonly setting: "blockedColumn" | "closingColumn";
}

/**
 * Makes sure that the table of a model's users has the columns for a change that ends all access.
 *
 * @throws `E_INVALID_MODEL`
 */
export async function requireColumns(user: AccountUser, { what, setting }: TimedChange): Promise<void> {
  const model = user.constructor as ModelClass & AuthenticatesStatics;
  const column = model[setting];
  if (column === null) {
    const problem = `${model.name}.${setting} is null, so its accounts can't be ${what}.`;
    throw new AshlarError("E_INVALID_MODEL", `${problem} Name a nullable column for a time.`);
  }
  await requireEpoch(user as unknown as ModelUser);
  for (const [name, definition] of [
    [column, "timestamp(database)"],
    [model.accessEpochColumn, '"varchar(43)"'],
  ] as const) {
    if (await tableHasColumn(model, name)) continue;
    const problem = `The table ${model.table} has no column ${name}, so accounts can't be ${what}.`;
    const own = `alterTable("${model.table}").addColumn("${name}", ${definition})`;
    const remedy = `Add it with npx ashlar auth --migrations, or with a migration of your own, ${own}; then run npx ashlar migrate.`;
    throw new AshlarError("E_INVALID_MODEL", `${problem} ${remedy}`);
  }
}
