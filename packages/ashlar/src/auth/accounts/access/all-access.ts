import { type Model, type ModelClass, type ModelQuery, tableHasColumn } from "../../../database/index.ts";
import { AshlarError } from "../../../support/index.ts";
import { type AccessHolder, makeAccessEpoch } from "../../access/access-epoch.ts";
import { endAccess, endsWithRow, type StoredAccount } from "../../access/end-access.ts";
import { updateEnding } from "../../access/rotate-access.ts";
import type { AuthenticatesStatics } from "../../models/user-model.ts";
import { hasPassword, NO_PASSWORD } from "../../passwords/verify-credentials.ts";
import type { AccountStore, AccountUser } from "../../users/account-store.ts";
import { type Authenticatable, isModel } from "../../users/authenticatable.ts";

/** How many accounts one statement covers: few enough that it finishes within any deadline and no login waits long. */
const BATCH = 5000;
const STORE_BATCH = 200;

type EndableModel = ModelClass<Model & AccessHolder> & AuthenticatesStatics;
const END = { what: "everything", reason: "command", proof: "none" } as const;

/**
 * One of many accounts whose access ends at once. The new epoch invalidates its logins, so their rows stay until they
 * are pruned. Only the command emits an event, because one for each account would bury the audit log.
 */
function oneOfAll<User extends Authenticatable>(update: StoredAccount<User>["update"]): StoredAccount<User> {
  return { update, transaction: (work) => work(), endLogins: async () => {}, audience: null };
}

type Rows = ModelQuery<Model & AccessHolder>;

/** The accounts to which access should end. */
export interface AccountsToEnd {
  readonly guard: string;
  readonly store: AccountStore;
}

/** How access to all accounts ends. */
export interface EndAllOptions {
  /** Whether their passwords become invalid too; default: `false`. */
  readonly voidsPasswords?: boolean;
  /** How many rows a statement covers; default: 5000. */
  readonly batch?: number;
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
 * Ends access to all accounts of a guard's users: one pass over the table, a few thousand rows per statement. The
 * number of logins, links and tokens doesn't matter, because all of them are bound to the row.
 *
 * All accounts get the same new epoch. It is as unguessable as a separate one for each, and nothing that belongs to one
 * account is accepted for another, because it also names the account.
 *
 * @returns how many accounts there were
 */
export async function endAccessToAll({ store }: AccountsToEnd, options: EndAllOptions = {}): Promise<number> {
  const model = store.userClass;
  return isModel(model) ? endRows(model as unknown as EndableModel, options) : endOneByOne(store, options);
}

async function endRows(
  model: EndableModel,
  { batch: size = BATCH, voidsPasswords = false }: EndAllOptions,
): Promise<number> {
  const key = model.primaryKey as never;
  const sample = (await model.rows().orderBy(key).limit(1).get())[0];
  if (sample === undefined) return 0;
  // The mixins determine which columns change, including those for tokens, and those of an application's own mixins.
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
    // Doesn't use the model's `save`, because its hooks handle one user at a time.
    const batch = upTo === null ? rest() : rest().where(key, "<=" as never, upTo as never);
    // Comes first, so that no old password can be used to log in after all logins have ended.
    if (voidsPasswords) await voidPasswords(model, batch);
    ended += hasOwnCredentials ? await endEach(await batch.get(), changes) : await batch.update(changes as never);
    if (upTo === null) return ended;
    last = upTo;
  }
}

/** Accounts that never had a password stay without one, because the settings may not let a link set it. */
async function voidPasswords({ passwordColumn }: EndableModel, rows: Rows): Promise<void> {
  const column = passwordColumn as never;
  await rows
    .whereNotNull(column)
    .where(column, "<>" as never, "" as never)
    .update({ [passwordColumn]: NO_PASSWORD } as never);
}

/** A class's own `endCredentials()`, and features, handle everything else, one user at a time. */
async function endEach(
  users: readonly (Model & AccessHolder)[],
  changes: Readonly<Record<string, unknown>>,
): Promise<number> {
  for (const user of users) {
    const update = async () => ((await user.writeColumns(changes)) ? user : null);
    await endAccess(oneOfAll(update), END);
  }
  return users.length;
}

async function endOneByOne(store: AccountStore, { voidsPasswords = false }: EndAllOptions): Promise<number> {
  let ended = 0;
  let last: AccountUser | undefined;
  while (true) {
    const users = await store.accountsAfter!(last?.authId() ?? null, STORE_BATCH);
    for (const user of users) {
      const changes = voidsPasswords && hasPassword(user) ? { passwordHash: NO_PASSWORD } : {};
      if ((await endAccess(oneOfAll(updateEnding(store, user)), { ...END, changes })) !== null) ended++;
    }
    last = users.at(-1);
    if (last === undefined) return ended;
  }
}
