import { endAccessOnProof } from "../../models/end-access.ts";
import { NO_PASSWORD, storedHash } from "../../passwords/stored-hash.ts";
import type { AccountUser, NewAccount } from "../../users/account-store.ts";
import type { AccountAccess } from "../access/account-access.ts";
import type { UserDeletion } from "../access/user-deletion.ts";
import type { AccountPages } from "../links/account-pages.ts";
import type { AccountMails } from "../mails/account-mails.ts";
import type { ResetTokens } from "../passwords/reset-tokens.ts";
import { isVerifiable } from "../users/account-user.ts";
import type { GuardUsers } from "../users/guard-users.ts";

/** The page where a password is chosen, which verifies the address. */
export const FINISH_PAGE = "password_reset";

/** The dependencies of {@link UnfinishedRegistrations}. */
export interface UnfinishedRegistrationsDependencies {
  readonly users: GuardUsers;
  readonly pages: AccountPages;
  readonly mails: AccountMails;
  readonly tokens: ResetTokens;
  readonly access: AccountAccess;
  readonly deletion: UserDeletion;
  /** Whether users can log in only once their address is verified. */
  readonly preventEnumeration: boolean;
  /** How long the link to choose a password can be used, in minutes; `null`: it never expires. */
  readonly expiresInMinutes: number | null;
}

/** Accounts whose address was registered but never verified, so that no user can log in to them. */
export class UnfinishedRegistrations {
  readonly #dependencies: UnfinishedRegistrationsDependencies;

  constructor(dependencies: UnfinishedRegistrationsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Reports whether an account cannot be logged in to until its address is verified. */
  has(guard: string, user: AccountUser): boolean {
    const { pages, preventEnumeration } = this.#dependencies;
    if (!preventEnumeration || !pages.has(guard, FINISH_PAGE)) return false;
    return isVerifiable(user) && !user.hasVerifiedEmail();
  }

  /**
   * Mails the owner of an unfinished account's address a link to choose a password, after invalidating the account's
   * current password and links.
   *
   * Security: of several people who registered the address, it is unknown which is its owner. All are told to open the
   * link in their mail, so if such a link verified the address, the owner's own click would make a stranger's password
   * valid.
   *
   * The account then has the values of the last registration, and each link in a mail belongs to a registration: values
   * from a stranger do not stay in the account after the owner registers and opens their link.
   *
   * @param isAllowed whether the limit allows a mail. If something is invalidated, the mail is sent in any case,
   * because the owner would be left without a link; that happens only once for an account, which then has no password
   * to invalidate.
   * @param attributes the values of this registration, besides the address and the password
   * @returns whether it is done; `false` if the account was verified, invalidated or changed since it was read
   */
  async offerPassword(
    guard: string,
    user: AccountUser,
    isAllowed: boolean,
    attributes: NewAccount["attributes"],
  ): Promise<boolean> {
    const { users, pages, mails, tokens, expiresInMinutes } = this.#dependencies;
    const hash = storedHash(user.passwordHash());
    const isOpen = hash !== null;
    if (!isOpen && !isAllowed) return true;
    return users.transaction(guard, async () => {
      const changed = await this.#registerAgain(guard, user, hash, attributes);
      if (changed === null) return false;
      const email = user.email!;
      const url = pages.url(guard, FINISH_PAGE, {}, { token: await tokens.issue(guard, changed) });
      await mails.tryQueue("finishRegistration", email, { guard, user, email, url, expiresInMinutes });
      return true;
    });
  }

  /**
   * Deletes an unfinished account, whose address someone has just proved to be theirs, with everything that is stored about it:
   * its values may be a stranger's. Call it in a transaction.
   *
   * @returns whether it is done; `false` if the account was verified or changed since it was read
   */
  async discard(guard: string, user: AccountUser): Promise<boolean> {
    const { users, access, deletion } = this.#dependencies;
    // One conditional change decides between this and a verification in progress.
    const conditions = { email: user.email!, verifiedAt: null };
    const changed = await endAccessOnProof(users.of(guard), user, { passwordHash: NO_PASSWORD }, conditions);
    if (changed === null) return false;
    await access.end(changed);
    return deletion.ofGuard(guard, changed);
  }

  /**
   * Gives an unfinished account the values of this registration, and invalidates its password and links if it has any.
   *
   * @returns the changed user; `null` if the account has changed since it was read
   */
  async #registerAgain(
    guard: string,
    user: AccountUser,
    hash: string | null,
    attributes: NewAccount["attributes"],
  ): Promise<AccountUser | null> {
    const store = this.#dependencies.users.of(guard);
    const asRead = { email: user.email!, verifiedAt: null };
    if (hash === null) return Object.keys(attributes).length === 0 ? user : store.update(user, { attributes }, asRead);
    // One conditional change decides between this, another registration, and a verification in progress.
    const changed = await endAccessOnProof(
      store,
      user,
      { attributes, passwordHash: NO_PASSWORD },
      { ...asRead, passwordHash: hash },
    );
    if (changed !== null) await this.#dependencies.access.end(changed);
    return changed;
  }
}
