import type { Application } from "../../boot/index.ts";
import { type Model, type ModelClass, tableHasColumn } from "../../database/index.ts";
import { normalizeKnownEmail } from "../../security/index.ts";
import { AshlarError } from "../../support/index.ts";
import { accountStoreOf } from "../models/model-accounts.ts";
import { normalizeIdentifier } from "../passwords/verify-credentials.ts";
import type { AccountStore, AccountUser } from "../users/account-store.ts";
import { type Authenticatable, isModel, keepsSameRows } from "../users/authenticatable.ts";
import { shown } from "./desk-arguments.ts";

/** An account that a command is about. */
export interface FoundAccount {
  readonly guard: string;
  readonly user: AccountUser;
}

/** How many accounts a search shows. */
export const MAX_FOUND = 20;
const MIN_PART_LENGTH = 3;

/** The users of a guard; guards with the same users are one. */
interface DeskUsers {
  readonly guard: string;
  readonly store: AccountStore;
}

/**
 * The account that a text identifies: by its primary key, its user's identifier, or its address, in any spelling.
 *
 * @throws `E_COMMAND` if there isn't one, or there are several; `E_UNKNOWN_GUARD`
 */
export async function findAccount(application: Application, text: string, guard: string | null): Promise<FoundAccount> {
  const found = await exactAccounts(application, text, guard);
  const [account] = found;
  if (account === undefined) {
    const remedy = "Name it by its primary key or its address; npx ashlar users:find looks for parts of them.";
    throw new AshlarError("E_COMMAND", `There is no account "${shown(text)}". ${remedy}`);
  }
  if (found.length === 1) return account;
  const all = found.map((one) => `${one.user.authId()} of the guard ${one.guard} (${labelOf(one.user)})`).join(", ");
  throw new AshlarError(
    "E_COMMAND",
    `Several accounts are "${shown(text)}": ${all}. Name one by its address, or its guard.`,
  );
}

/** An account as it is stored now; `null` if it no longer exists. */
export async function storedAccount(
  application: Application,
  { guard, user }: FoundAccount,
): Promise<FoundAccount | null> {
  const store = accountStoreOf(application.container.make("auth").modelOf(guard)!)!;
  const stored = await byKey(store, String(user.authId()));
  return stored === null ? null : { guard, user: stored };
}

/** All accounts that a text identifies, or else all accounts with the text in their address or name. */
export async function searchAccounts(
  application: Application,
  text: string,
  guard: string | null,
): Promise<readonly FoundAccount[]> {
  const exact = await exactAccounts(application, text, guard);
  if (exact.length > 0 || text.length < MIN_PART_LENGTH) return exact;
  const found: FoundAccount[] = [];
  for (const { guard: name, store } of usersOf(application, guard)) {
    const model = store.userClass;
    if (!isModel(model)) continue;
    for (const column of new Set([store.identifierColumn, "email"])) {
      if (!(await tableHasColumn(model, column))) continue;
      const users = await containing(model, column, text);
      for (const user of users) {
        const isNew = found.every((one) => one.guard !== name || String(one.user.authId()) !== String(user.authId()));
        if (isNew && found.length < MAX_FOUND) found.push({ guard: name, user });
      }
    }
  }
  return found;
}

/** The names by which people recognize an account. */
export function labelOf(user: Authenticatable): string {
  const { email, name } = user as { readonly email?: unknown; readonly name?: unknown };
  const label = [email, name].find((one) => typeof one === "string" && one !== "");
  return shown(typeof label === "string" ? label : String(user.authId()));
}

async function exactAccounts(
  application: Application,
  text: string,
  guard: string | null,
): Promise<readonly FoundAccount[]> {
  const found: FoundAccount[] = [];
  for (const { guard: name, store } of usersOf(application, guard)) {
    const users = new Map<string, AccountUser>();
    for (const user of [await byKey(store, text), await byIdentifier(store, text), ...(await byAddress(store, text))]) {
      if (user !== null) users.set(String(user.authId()), user);
    }
    for (const user of users.values()) found.push({ guard: name, user });
  }
  return found;
}

/** The accounts of one guard, or of all of them, each once. */
export function usersOf({ container }: Application, guard: string | null): readonly DeskUsers[] {
  const guards = container.make("auth");
  if (guard !== null) guards.checkName(guard);
  const seen: object[] = [];
  const users: DeskUsers[] = [];
  const names = guard === null ? [...new Set([guards.defaultName, ...guards.names])] : [guard];
  for (const name of names) {
    const model = guards.modelOf(name);
    if (model === null || seen.some((one) => keepsSameRows(one, model))) continue;
    seen.push(model);
    const store = accountStoreOf(model);
    if (store !== null) users.push({ guard: name, store });
  }
  if (users.length > 0) return users;
  const which = guard === null ? "No guard has users" : `The guard "${guard}" has no users`;
  throw new AshlarError("E_COMMAND", `${which} that can have accounts.`);
}

/** Includes closed accounts, because a command may concern one. */
async function byKey(store: AccountStore, text: string): Promise<AccountUser | null> {
  const model = store.userClass;
  if (!isModel(model)) return store.findByAuthId(text);
  // Text that can't be a key matches no row, and causes an error in some databases.
  const user = (await (model as ModelClass).find(text).catch(() => null)) as (Model & AccountUser) | null;
  return user !== null && String(user.authId()) === text ? user : null;
}

async function byIdentifier(store: AccountStore, text: string): Promise<AccountUser | null> {
  const normal = normalizeIdentifier(store, text);
  return normal === null ? null : ((await store.findByIdentifier(normal)) ?? null);
}

async function byAddress(store: AccountStore, text: string): Promise<readonly AccountUser[]> {
  const email = normalizeKnownEmail(text);
  if (email === null) return [];
  const open = await store.findByEmail(email);
  const model = store.userClass;
  if (open !== null || !isModel(model) || !(await tableHasColumn(model, "email"))) return open === null ? [] : [open];
  return (await (model as ModelClass).where("email" as never, email as never).get()) as unknown as AccountUser[];
}

async function containing(model: ModelClass, column: string, text: string): Promise<readonly AccountUser[]> {
  // Addresses are stored in lower case. Databases escape differently, so a pattern's matches are checked again.
  const part = text.toLowerCase();
  const query = model.where(column as never, "like" as never, `%${part.replaceAll("\\", "_")}%` as never);
  const rows = (await query.limit(MAX_FOUND).get()) as unknown as readonly Record<string, unknown>[];
  return rows.filter((row) => String(row[column]).toLowerCase().includes(part)) as unknown as AccountUser[];
}
