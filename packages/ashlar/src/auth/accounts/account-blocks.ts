import { type ModelClass, tableHasColumn } from "../../database/index.ts";
import type { Events } from "../../events/index.ts";
import { AshlarError, currentDate, type RegisteredUser } from "../../support/index.ts";
import type { AccountUser } from "../account-store.ts";
import { type AuthenticatesStatics, requireEpoch } from "../authenticates.ts";
import { blockedColumnOf, isBlocked } from "../blocked-accounts.ts";
import { endAccess } from "../end-access.ts";
import type { ModelUser } from "../model-accounts.ts";
import { isModel } from "../users-of.ts";
import type { AccountAccess } from "./account-access.ts";
import type { GuardUsers } from "./guard-users.ts";

/** Who blocks or unblocks an account, and why. */
export interface BlockDetails {
  /** Who does it, for the audit trail; `null` if that is unknown. */
  readonly by: string | null;
  /** Why, for the audit trail; `null` if no reason is given. */
  readonly reason: string | null;
  /** The client's address; `null` outside of a request. */
  readonly address: string | null;
}

/** The dependencies of {@link AccountBlocks}. */
export interface AccountBlocksDependencies {
  readonly users: GuardUsers;
  readonly access: AccountAccess;
  /** Returns the application's events; `null` if it has none. */
  readonly events: () => Events | null;
}

/** The longest reason that an event has, in UTF-16 units. */
const MAX_REASON_LENGTH = 500;

/** Blocks accounts, and unblocks them. */
export class AccountBlocks {
  readonly #dependencies: AccountBlocksDependencies;

  constructor(dependencies: AccountBlocksDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Blocks an account, and ends all access to it, with one statement that changes its row; see `Accounts.block`. One that is
   * blocked already stays so since the same time.
   */
  async block(guard: string, user: AccountUser, details: BlockDetails): Promise<boolean> {
    return this.#set(guard, user, isBlocked(user) ? {} : { blockedAt: currentDate() }, "auth.blocked", details);
  }

  /**
   * Unblocks an account; see `Accounts.unblock`. Its epoch changes again: what has been issued meanwhile past the framework
   * gives no access either.
   */
  async unblock(guard: string, user: AccountUser, details: BlockDetails): Promise<boolean> {
    return this.#set(guard, user, { blockedAt: null }, "auth.unblocked", details);
  }

  async #set(
    guard: string,
    user: AccountUser,
    changes: { readonly blockedAt?: Date | null },
    event: "auth.blocked" | "auth.unblocked",
    { by, reason, address }: BlockDetails,
  ): Promise<boolean> {
    const { users, access, events } = this.#dependencies;
    await requireBlockable(user);
    const changed = await users.transaction(guard, async () => {
      const ended = await endAccess(users.of(guard), user, changes);
      if (ended !== null) await access.end(ended);
      return ended;
    });
    if (changed === null) return false;
    const why = reason?.slice(0, MAX_REASON_LENGTH) ?? null;
    const told = { time: currentDate(), address, guard, user: changed as RegisteredUser, by, reason: why };
    void events()?.emit(event, told);
    return true;
  }
}

/**
 * Makes sure that a user's account can be blocked, and all access to it ended.
 *
 * @throws `E_INVALID_MODEL`
 */
export async function requireBlockable(user: AccountUser): Promise<void> {
  const userClass = user.constructor;
  if (!isModel(userClass)) {
    if (typeof user.isBlocked === "function") return;
    const remedy = "Give it a method isBlocked(), and store AccountChanges.blockedAt in its AccountStore.";
    throw new AshlarError("E_INVALID_MODEL", `Users of the class ${userClass.name} can't be blocked. ${remedy}`);
  }
  const model = userClass as ModelClass & AuthenticatesStatics;
  const column = blockedColumnOf(model);
  if (column === null) {
    const problem = `${model.name}.blockedColumn is null, so its accounts can't be blocked.`;
    throw new AshlarError("E_INVALID_MODEL", `${problem} Name a nullable column for a time.`);
  }
  await requireEpoch(user as unknown as ModelUser);
  for (const [name, definition] of [
    [column, "timestamp(database)"],
    [model.accessEpochColumn, '"varchar(43)"'],
  ] as const) {
    if (await tableHasColumn(model, name)) continue;
    const problem = `The table ${model.table} has no column ${name}, so accounts can't be blocked.`;
    const own = `alterTable("${model.table}").addColumn("${name}", ${definition})`;
    const remedy = `Add it with npx ashlar auth --migrations, or with a migration of your own, ${own}; then run npx ashlar migrate.`;
    throw new AshlarError("E_INVALID_MODEL", `${problem} ${remedy}`);
  }
}
