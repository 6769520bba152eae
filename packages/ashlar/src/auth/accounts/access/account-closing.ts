import type { Events } from "../../../events/index.ts";
import type { HttpContext } from "../../../http/index.ts";
import { AshlarError, currentDate, type MaybePromise, now, type RegisteredUser } from "../../../support/index.ts";
import { accessEpochOf, readAgain, staleProof } from "../../access/access-epoch.ts";
import type { AccessProof } from "../../access/end-access.ts";
import type { ClosedAccounts } from "../../guards/guard-registry.ts";
import type { AccountStore, AccountUser } from "../../users/account-store.ts";
import { closesAtOf, isModel } from "../../users/authenticatable.ts";
import type { AccountPages } from "../links/account-pages.ts";
import type { AccountMails } from "../mails/account-mails.ts";
import type { CompleteAccountsSettings } from "../mails/settings.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { AccountAccess } from "./account-access.ts";
import { auditText, type BlockDetails } from "./account-blocks.ts";
import type { ClosedAccountRemoval } from "./closed-account-removal.ts";
import { requireColumns } from "./require-columns.ts";

const DAY_MS = 86_400_000;
const SECOND_MS = 1000;

/** How an account was closed or reopened. */
export interface ClosingDetails extends BlockDetails {
  /** The language of the visitor who did it, for the mail; default: the application's. */
  readonly language?: string;
}

/** The dependencies of {@link AccountClosing}. */
export interface AccountClosingDependencies {
  readonly users: GuardUsers;
  readonly access: AccountAccess;
  readonly mails: AccountMails;
  readonly pages: AccountPages;
  readonly removal: ClosedAccountRemoval;
  readonly closing: CompleteAccountsSettings["closing"];
  /** Returns the application's events; `null` if it has none. */
  readonly events: () => Events | null;
}

/** Closes accounts, and reopens them as long as they exist. */
export class AccountClosing implements ClosedAccounts {
  readonly #dependencies: AccountClosingDependencies;

  constructor(dependencies: AccountClosingDependencies) {
    this.#dependencies = dependencies;
  }

  /** When an account that is closed now would be deleted or anonymized: a full second, which every column can store. */
  date(): Date {
    const at = now() + this.#dependencies.closing.graceDays * DAY_MS;
    return new Date(Math.floor(at / SECOND_MS) * SECOND_MS);
  }

  /**
   * Closes an account, ends all access to it, and mails its owner, in one transaction; see `Accounts.close`. Without a
   * grace period, it is then deleted or anonymized at once.
   *
   * @param proof `user` if it is the owner's decision, which counts only if access has not ended since
   * @returns when it is deleted or anonymized; `null` if the account doesn't exist, or the proof doesn't hold
   * @throws `E_INVALID_MODEL` if accounts of this class can't be closed
   */
  async close(guard: string, user: AccountUser, proof: AccessProof, details: ClosingDetails): Promise<Date | null> {
    const { access, closing, mails, removal, users } = this.#dependencies;
    await requireClosable(users.of(guard), user);
    if (mails.areSent) await mails.prepare();
    const isAtOnce = closing.graceDays === 0;
    // An account that was closed before keeps the date that its owner was mailed.
    const closesAt = closesAtOf(user) ?? this.date();
    const closed = await access.end(guard, user, {
      what: "everything",
      reason: "closed",
      proof,
      changes: { closesAt },
      address: details.address,
      also: (changed) => this.#mail(guard, changed, "closed", closesAt, details),
    });
    if (closed === null) return null;
    // The account's own list of events is about to be erased.
    if (!isAtOnce) this.#announce("auth.account_closed", guard, closed, closesAt, details);
    else await removal.removeNow(guard, closed);
    return closesAt;
  }

  /**
   * Reopens an account; see `Accounts.reopen`. What was valid before it was closed stays invalid.
   *
   * @returns whether it was closed, and still existed
   */
  async reopen(guard: string, user: AccountUser, details: ClosingDetails): Promise<boolean> {
    const closesAt = closesAtOf(user);
    if (closesAt === null) return false;
    const { mails, users } = this.#dependencies;
    if (mails.areSent) await mails.prepare();
    const reopened = await users.transaction(guard, async () => {
      const changed = await users.of(guard).update(user, { closesAt: null }, { closesAt });
      if (changed !== null) await this.#mail(guard, changed, "reopened", null, details);
      return changed;
    });
    if (reopened === null) return false;
    this.#announce("auth.account_reopened", guard, reopened, null, details);
    return true;
  }

  async enterReopened<User extends object>(
    context: HttpContext,
    guard: string,
    user: User,
    enter: () => MaybePromise<void>,
  ): Promise<User> {
    const { mails, users } = this.#dependencies;
    const own = users.requireOwn(guard, user);
    const store = users.of(guard);
    const closesAt = closesAtOf(own)!;
    const details = { by: null, reason: null, address: context.request.clientAddress, language: context.language };
    if (mails.areSent) await mails.prepare();
    const { entered, isFirst } = await users.transaction(guard, async () => {
      const changed = await store.update(own, { closesAt: null }, { accessEpoch: accessEpochOf(own), closesAt });
      if (changed !== null) await this.#mail(guard, changed, "reopened", null, details);
      // Another login may have reopened it, which doesn't end access.
      const entered = changed ?? ((await readAgain(store, own)) as AccountUser | null);
      if (entered === null || closesAtOf(entered) !== null) throw staleProof();
      await enter();
      return { entered, isFirst: changed !== null };
    });
    if (isFirst) this.#announce("auth.account_reopened", guard, entered, null, details);
    return entered as unknown as User;
  }

  async #mail(
    guard: string,
    user: AccountUser,
    change: "closed" | "reopened",
    closesAt: Date | null,
    { language }: ClosingDetails,
  ): Promise<void> {
    const { closing, mails, pages } = this.#dependencies;
    const { email } = user;
    if (email === null || !mails.areSent) return;
    const own = user as unknown as RegisteredUser;
    const data = { guard, user: own, email, change, changedAt: currentDate(), closesAt, ...closing };
    const loginUrl = pages.urlIfAny(guard, "login");
    await mails.tryQueue("accountClosed", email, { ...data, loginUrl, ...(language !== undefined && { language }) });
  }

  #announce(
    name: "auth.account_closed" | "auth.account_reopened",
    guard: string,
    user: object,
    closesAt: Date | null,
    { by, reason, address }: ClosingDetails,
  ): void {
    const notes = { by: auditText(by), reason: auditText(reason) };
    const told = { time: currentDate(), address, guard, user: user as RegisteredUser, ...notes, closesAt };
    void this.#dependencies.events()?.emit(name, told);
  }
}

/**
 * Makes sure that a user's account can be closed, and is found again when it is to be deleted.
 *
 * @throws `E_INVALID_MODEL`
 */
export async function requireClosable(store: AccountStore, user: AccountUser): Promise<void> {
  const userClass = user.constructor;
  if (isModel(userClass)) return requireColumns(user, { what: "closed", setting: "closingColumn" });
  if (typeof user.closesAt === "function" && store.closedAccounts !== undefined) return;
  const remedy =
    "Give it a method closesAt(), store AccountChanges.closesAt and compare AccountConditions.closesAt in its AccountStore, and give that a method closedAccounts().";
  throw new AshlarError("E_INVALID_MODEL", `Accounts of the class ${userClass.name} can't be closed. ${remedy}`);
}
