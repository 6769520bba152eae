import { NO_PASSWORD, storedHash } from "../../passwords/verify-credentials.ts";
import type { AccountUser, NewAccount } from "../../users/account-store.ts";
import { awaitsVerification } from "../../users/authenticatable.ts";
import type { AccountAccess } from "../access/account-access.ts";
import type { UserDeletion } from "../access/user-deletion.ts";
import type { AccountPages } from "../links/account-pages.ts";
import type { AccountMails } from "../mails/account-mails.ts";
import type { ResetTokens } from "../passwords/reset-tokens.ts";
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
  /** How long the link to choose a password can be used, in minutes; `null` if it never expires. */
  readonly expiresInMinutes: number | null;
}

const REGISTERED_AGAIN = { what: "everything", reason: "registered_again", proof: "user" } as const;

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
    return awaitsVerification(user);
  }

  /**
   * Mails the owner of an unfinished account's address a link to choose a password, after invalidating the account's
   * current password and links.
   *
   * Security: if several people registered the address, it is unknown which of them owns it. Everyone is asked to open
   * the link in their mail, so if such a link verified the address, the owner's own click would validate a stranger's
   * password.
   *
   * The account then has the values of the last registration, and each link in a mail belongs to a registration: values
   * from a stranger do not stay in the account after the owner registers and opens their link.
   *
   * @param isAllowed whether the limit allows a mail. If something is invalidated, the mail is sent anyway, because the
   * owner would otherwise be left without a link. That happens only once per account, because it then has no password
   * left to invalidate.
   * @param attributes the values of this registration, besides the address and the password
   * @returns whether the case was handled; `false` if the account was verified, invalidated or changed since it was
   * read
   */
  async offerPassword(
    guard: string,
    user: AccountUser,
    isAllowed: boolean,
    attributes: NewAccount["attributes"],
  ): Promise<boolean> {
    const { users, pages, mails, tokens, access, expiresInMinutes } = this.#dependencies;
    const hash = storedHash(user.passwordHash());
    const isOpen = hash !== null;
    if (!isOpen && !isAllowed) return true;
    const email = user.email!;
    const mail = async (changed: AccountUser): Promise<void> => {
      const url = pages.url(guard, FINISH_PAGE, {}, { token: await tokens.issue(guard, changed) });
      await mails.tryQueue("finishRegistration", email, { guard, user, email, url, expiresInMinutes });
    };
    const asRead = { email, verifiedAt: null };
    if (hash !== null) {
      // One conditional change decides between this, another registration, and a verification in progress.
      const changed = await access.end(guard, user, {
        ...REGISTERED_AGAIN,
        changes: { attributes, passwordHash: NO_PASSWORD },
        conditions: { ...asRead, passwordHash: hash },
        also: mail,
      });
      return changed !== null;
    }
    const hasValues = Object.keys(attributes).length > 0;
    return users.transaction(guard, async () => {
      const changed = hasValues ? await users.of(guard).update(user, { attributes }, asRead) : user;
      if (changed !== null) await mail(changed);
      return changed !== null;
    });
  }

  /**
   * Deletes an unfinished account, and everything that is stored about it, because someone has just proved to own its
   * address, and its values may be a stranger's. Call it in a transaction.
   *
   * @returns whether the account was deleted; `false` if it was verified or changed since it was read
   */
  async discard(guard: string, user: AccountUser): Promise<boolean> {
    const { access, deletion } = this.#dependencies;
    // One conditional change decides between this and a verification in progress.
    const conditions = { email: user.email!, verifiedAt: null };
    const changes = { passwordHash: NO_PASSWORD };
    const changed = await access.end(guard, user, { ...REGISTERED_AGAIN, changes, conditions });
    return changed !== null && deletion.ofGuard(guard, changed);
  }
}
