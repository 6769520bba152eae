import { type Model, type ModelClass, tableHasColumn } from "../../database/index.ts";
import { AshlarError } from "../../support/index.ts";
import { type AccessHolder, endCredentials, makeAccessEpoch } from "../access-epoch.ts";
import type { AccountStore, AccountUser } from "../account-store.ts";
import type { AuthenticatesStatics } from "../authenticates.ts";
import { endAccess } from "../end-access.ts";
import { endsWithRow } from "../stored-credentials.ts";
import { isModel } from "../users-of.ts";
import { writeColumns } from "../write-column.ts";

/** How many accounts one statement covers: few enough that it ends within any deadline, and no login waits for long. */
const BATCH = 5000;
const STORE_BATCH = 200;

type EndableModel = ModelClass<Model & AccessHolder> & AuthenticatesStatics;

/** The accounts whose access is to end. */
export interface AccountsToEnd {
  readonly guard: string;
  readonly store: AccountStore;
}

/**
 * Makes sure that access to all accounts can be ended, before any of it is.
 *
 * @throws `E_INVALID_MODEL`
 */
export async function requireEndable(all: readonly AccountsToEnd[]): Promise<void> {
  for (const { guard, store } of all) {
    const model = store.userClass;
    if (isModel(model)) {
      const { accessEpochColumn: column } = model as unknown as EndableModel;
      if (await tableHasColumn(model, column)) continue;
      const problem = `The table ${model.table} has no column ${column}, so access to its accounts can't be ended.`;
      const remedy = "Run npx ashlar auth --migrations and npx ashlar migrate.";
      throw new AshlarError("E_INVALID_MODEL", `${problem} ${remedy}`);
    }
    if (store.accountsAfter !== undefined) continue;
    const problem = `The users of the guard "${guard}" can't be listed: ${store.name} has no method accountsAfter().`;
    throw new AshlarError("E_INVALID_MODEL", `${problem} Add it.`);
  }
}

/**
 * Ends access to all accounts of a guard's users: one pass over the table, a few thousand rows a statement, whatever the
 * number of logins, links and tokens, because all of these are bound to the row.
 *
 * All accounts get the same new epoch. It is as unguessable as one of their own, and nothing that belongs to one account is
 * accepted for another, because it also names the account.
 *
 * @param batch how many rows a statement covers
 * @returns how many accounts there were
 */
export async function endAccessToAll({ store }: AccountsToEnd, batch: number = BATCH): Promise<number> {
  const model = store.userClass;
  return isModel(model) ? endRows(model as unknown as EndableModel, batch) : endOneByOne(store);
}

async function endRows(model: EndableModel, size: number): Promise<number> {
  const key = model.primaryKey as never;
  const sample = (await model.rows().orderBy(key).limit(1).get())[0];
  if (sample === undefined) return 0;
  // The mixins know which columns change: also those of tokens, and of an application's own.
  const changes = { ...sample.accessChanges(), [model.accessEpochColumn]: makeAccessEpoch() };
  const hasOwnCredentials = !endsWithRow(sample);
  let ended = 0;
  let last: unknown;
  while (true) {
    const rest = () => (last === undefined ? model.rows() : model.where(key, ">" as never, last as never));
    const end = (
      await rest()
        .orderBy(key)
        .limit(1)
        .offset(size - 1)
        .get()
    )[0];
    const upTo = end === undefined ? null : end.authId();
    // No model's `save`: its hooks are for one user at a time.
    const batch = upTo === null ? rest() : rest().where(key, "<=" as never, upTo as never);
    ended += hasOwnCredentials ? await endEach(await batch.get(), changes) : await batch.update(changes as never);
    if (upTo === null) return ended;
    last = upTo;
  }
}

/** A class's own `endCredentials()` knows what else there is, one user at a time. */
async function endEach(
  users: readonly (Model & AccessHolder)[],
  changes: Readonly<Record<string, unknown>>,
): Promise<number> {
  for (const user of users) {
    await writeColumns(user, changes);
    await endCredentials(user);
  }
  return users.length;
}

async function endOneByOne(store: AccountStore): Promise<number> {
  let ended = 0;
  let last: AccountUser | undefined;
  while (true) {
    const users = await store.accountsAfter!(last?.authId() ?? null, STORE_BATCH);
    for (const user of users) if ((await endAccess(store, user)) !== null) ended++;
    last = users.at(-1);
    if (last === undefined) return ended;
  }
}
