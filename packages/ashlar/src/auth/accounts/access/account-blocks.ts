import type { Events } from "../../../events/index.ts";
import { AshlarError, currentDate, type RegisteredUser } from "../../../support/index.ts";
import type { AccessEnding } from "../../access/end-access.ts";
import type { AccountUser } from "../../users/account-store.ts";
import { blockedAtOf, isBlocked, isModel } from "../../users/authenticatable.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { AccountAccess } from "./account-access.ts";
import { requireColumns } from "./require-columns.ts";

/** Who blocks or unblocks an account, and why. */
export interface BlockDetails {
  /** Who blocks or unblocks it, for the audit trail; `null` if that is unknown. */
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

/** The longest operator's note that an event contains, in UTF-16 units. */
const MAX_TEXT_LENGTH = 500;

/** Shortens an operator's note for an event; `null` without one. */
export function auditText<Text extends string | null>(text: Text): Text {
  return (text === null ? null : text.slice(0, MAX_TEXT_LENGTH)) as Text;
}

/** Blocks accounts, and unblocks them. */
export class AccountBlocks {
  readonly #dependencies: AccountBlocksDependencies;

  constructor(dependencies: AccountBlocksDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Blocks an account, and ends all access to it, in one transaction; see `Accounts.block`. An account that is already
   * blocked keeps its time. The stored row decides, not the user that was read, because another operator may have
   * changed the row.
   */
  async block(guard: string, user: AccountUser, details: BlockDetails): Promise<boolean> {
    const store = this.#dependencies.users.of(guard);
    const write: AccessEnding<AccountUser>["write"] = async (update) => {
      // The new epoch locks the row, and ends everything that was valid.
      const ended = await update();
      if (ended === null) return null;
      const stored = await store.findByAuthId(user.authId());
      if (stored === null || !isBlocked(stored)) return store.update(ended, { blockedAt: currentDate() }, {});
      const blockedAt = blockedAtOf(stored);
      return blockedAt === null ? stored : store.update(ended, { blockedAt }, {});
    };
    return this.#change(guard, user, "blocked", { write }, details);
  }

  /**
   * Unblocks an account; see `Accounts.unblock`. Its epoch changes again: credentials that other software issued in the
   * meantime don't give access either.
   */
  async unblock(guard: string, user: AccountUser, details: BlockDetails): Promise<boolean> {
    return this.#change(guard, user, "unblocked", { changes: { blockedAt: null } }, details);
  }

  async #change(
    guard: string,
    user: AccountUser,
    reason: "blocked" | "unblocked",
    change: Pick<AccessEnding<AccountUser>, "write" | "changes">,
    { by, reason: given, address }: BlockDetails,
  ): Promise<boolean> {
    const { access, events } = this.#dependencies;
    await requireBlockable(user);
    const ending = { what: "everything", reason, proof: "none", address, ...change } as const;
    const changed = await access.end(guard, user, ending);
    if (changed === null) return false;
    const notes = { by: auditText(by), reason: auditText(given) };
    const told = { time: currentDate(), address, guard, user: changed as RegisteredUser, ...notes };
    void events()?.emit(`auth.${reason}`, told);
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
  return requireColumns(user, { what: "blocked", setting: "blockedColumn" });
}
