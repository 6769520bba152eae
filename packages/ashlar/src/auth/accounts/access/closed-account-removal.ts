import { randomBytes } from "node:crypto";
import { type ModelClass, metadataOf, tableHasColumn } from "../../../database/index.ts";
import type { Logger } from "../../../kernel/index.ts";
import { currentDate } from "../../../support/index.ts";
import { makeAccessEpoch } from "../../access/access-epoch.ts";
import { NO_PASSWORD } from "../../passwords/verify-credentials.ts";
import type { AccountChanges, AccountStore, AccountUser } from "../../users/account-store.ts";
import {
  blockedColumnOf,
  closesAtOf,
  closingColumnOf,
  isModel,
  keepsSameRows,
  type UserId,
} from "../../users/authenticatable.ts";
import type { UserDataRegistry } from "../../users/user-data.ts";
import type { CompleteAccountsSettings } from "../mails/settings.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { AccountAccess } from "./account-access.ts";
import type { UserDeletion } from "./user-deletion.ts";

const BATCH = 100;

/** The domain of the addresses of anonymized accounts, to which no mail can be sent (RFC 2606). */
const NO_DOMAIN = "closed.invalid";

/** The dependencies of {@link ClosedAccountRemoval}. */
export interface ClosedAccountRemovalDependencies {
  readonly users: GuardUsers;
  readonly access: AccountAccess;
  readonly deletion: UserDeletion;
  readonly userData: UserDataRegistry;
  readonly closing: CompleteAccountsSettings["closing"];
  /** The names of all guards. */
  readonly guards: () => readonly string[];
  readonly logger: Logger;
}

/** Deletes or anonymizes accounts that were closed, once their grace period is over. */
export class ClosedAccountRemoval {
  readonly #dependencies: ClosedAccountRemovalDependencies;

  constructor(dependencies: ClosedAccountRemovalDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Removes all accounts whose grace period is over, a few at a time. Several processes can do it at the same time: each account is
   * removed by one of them, and none whose owner has logged in since. If one can't be removed, for example because
   * rows of a feature refer to it, that is logged, and the others are.
   *
   * @param signal stops it after the current account
   * @returns how many were removed; `null` if no guard's accounts can be closed
   */
  async prune(signal?: AbortSignal): Promise<number | null> {
    const done: AccountStore[] = [];
    let removed = 0;
    for (const guard of this.#dependencies.guards()) {
      const store = this.#dependencies.users.storeOf(guard);
      const isDone = done.some((other) => store !== null && keepsSameRows(other, store));
      if (store === null || isDone || !(await canBeClosed(store))) continue;
      done.push(store);
      removed += await this.#pruneOf(guard, store, signal);
    }
    return done.length === 0 ? null : removed;
  }

  async #pruneOf(guard: string, store: AccountStore, signal?: AbortSignal): Promise<number> {
    const until = currentDate();
    let removed = 0;
    let last: UserId | null = null;
    while (true) {
      const users: readonly AccountUser[] = await store.closedAccounts!(until, last, BATCH);
      for (const user of users) {
        if (signal?.aborted === true) return removed;
        if (await this.removeNow(guard, user)) removed++;
      }
      if (users.length < BATCH) return removed;
      last = users.at(-1)!.authId();
    }
  }

  /**
   * Removes an account that is closed since it was read, as the settings say. A failure is logged; the next pruning tries
   * again.
   *
   * @returns whether it was removed
   */
  async removeNow(guard: string, user: AccountUser): Promise<boolean> {
    const { closing, logger } = this.#dependencies;
    try {
      return await (closing.removal === "delete" ? this.#delete(guard, user) : this.#anonymize(guard, user));
    } catch (error) {
      const what = { err: error, guard, userId: String(user.authId()) };
      logger.error(what, "A closed account could not be removed. It is tried again at the next pruning.");
      return false;
    }
  }

  /**
   * The statement that writes the new epoch decides: it finds no row if the owner has logged in, or another process has
   * removed the account. Otherwise, it locks the row until the account is deleted.
   */
  #delete(guard: string, user: AccountUser): Promise<boolean> {
    const { deletion, users } = this.#dependencies;
    const closesAt = closesAtOf(user)!;
    const claim = async () => {
      return (await users.of(guard).update(user, { accessEpoch: makeAccessEpoch() }, { closesAt })) !== null;
    };
    return deletion.ofGuard(guard, user, claim);
  }

  async #anonymize(guard: string, user: AccountUser): Promise<boolean> {
    const { access, userData, users } = this.#dependencies;
    const { email } = user;
    const guards = users.guardsKeeping(user.constructor);
    const anonymized = await access.end(guard, user, {
      what: "everything",
      reason: "anonymized",
      proof: "none",
      conditions: { closesAt: closesAtOf(user)! },
      changes: await this.#changes(users.of(guard), user),
      also: (changed) => userData.erase({ user: changed, id: user.authId(), guards, email }),
    });
    return anonymized !== null;
  }

  /** What replaces the data about a user: texts that no one can derive from them, and that no other account has. */
  async #changes(store: AccountStore, user: AccountUser): Promise<AccountChanges> {
    const text = randomBytes(8).toString("hex");
    const { email } = user;
    return {
      ...(email !== null && email !== "" && { email: `${text}@${NO_DOMAIN}` }),
      passwordHash: NO_PASSWORD,
      closesAt: null,
      // Without credentials no one can log in; this also refuses a login that the application makes.
      ...((await canBeBlocked(user)) && { blockedAt: currentDate() }),
      attributes: await this.#attributes(store, user, text),
    };
  }

  async #attributes(store: AccountStore, user: AccountUser, text: string): Promise<Record<string, string | null>> {
    const row = user as unknown as Readonly<Record<string, unknown>>;
    const attributes: Record<string, string | null> = {};
    for (const column of new Set([store.identifierColumn, ...this.#dependencies.closing.personalColumns])) {
      // The address has its own form.
      if (column === "email" || !(await canWrite(store, column))) continue;
      const model = store.userClass as object;
      // Only a text can be replaced by one. A store's user need not show what is stored.
      const isText = !isModel(model) || (!metadataOf(model).casts.has(column) && typeof row[column] === "string");
      attributes[column] = isText ? text : null;
    }
    return attributes;
  }
}

/** Reports whether accounts of a store can have been closed. */
async function canBeClosed(store: AccountStore): Promise<boolean> {
  const model = store.userClass as object;
  if (!isModel(model)) return store.closedAccounts !== undefined;
  const column = closingColumnOf(model);
  return column !== null && (await tableHasColumn(model, column));
}

/** Reports whether a user can be marked as blocked. */
async function canBeBlocked(user: AccountUser): Promise<boolean> {
  const userClass = user.constructor;
  if (!isModel(userClass)) return typeof user.isBlocked === "function";
  const column = blockedColumnOf(userClass);
  return column !== null && (await tableHasColumn(userClass, column));
}

/** Reports whether a column of a model's table, or an attribute of a store, exists. */
async function canWrite(store: AccountStore, column: string): Promise<boolean> {
  const model = store.userClass as object;
  return isModel(model) ? tableHasColumn(model as ModelClass, column) : store.attributeKind(column) !== null;
}
