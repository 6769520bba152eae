import type { Application } from "../../boot/index.ts";
import type { ModelClass } from "../../database/index.ts";
import { accountStoreOf } from "../models/model-accounts.ts";
import { type AuthenticatableClass, isModel, keepsSameRows } from "../users/authenticatable.ts";
import { ModelSpellings, type SpelledUserModel } from "./model-spellings.ts";
import type { SpelledUsers } from "./spelled-users.ts";
import { listsAccounts, StoreSpellings } from "./store-spellings.ts";

/** Users that can't be listed. */
export interface UnlistedUsers {
  /** The name of their class, or of the object that finds them. */
  readonly name: string;
  readonly guard: string;
}

/** The users of an application's guards, each once. */
export async function spelledUsersOf({ container }: Application): Promise<{
  readonly users: readonly SpelledUsers[];
  readonly unlisted: readonly UnlistedUsers[];
}> {
  const guards = container.make("auth");
  const seen: object[] = [];
  const users: SpelledUsers[] = [];
  const unlisted: UnlistedUsers[] = [];
  for (const guard of guards.names) {
    const model: AuthenticatableClass | null = guards.modelOf(guard);
    if (model === null || seen.some((one) => keepsSameRows(one, model))) continue;
    seen.push(model);
    if (isModel(model)) {
      const connection = container.make("database").connection((model as ModelClass).connection ?? undefined);
      users.push(await ModelSpellings.of(model as unknown as SpelledUserModel, connection));
      continue;
    }
    const store = accountStoreOf(model);
    if (store !== null && listsAccounts(store)) users.push(new StoreSpellings(store));
    else unlisted.push({ name: model.name, guard });
  }
  return { users, unlisted };
}
