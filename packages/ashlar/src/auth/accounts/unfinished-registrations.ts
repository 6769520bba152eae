import { NO_PASSWORD, storedHash } from "../stored-hash.ts";
import type { AccountAccess } from "./account-access.ts";
import type { AccountMails } from "./account-mails.ts";
import type { AccountPages } from "./account-pages.ts";
import { type AccountUser, isVerifiable } from "./account-user.ts";
import type { GuardUsers } from "./guard-users.ts";
import type { ResetTokens } from "./reset-tokens.ts";

/** The page where a password is chosen, which verifies the address. */
export const FINISH_PAGE = "password_reset";

/** What {@link UnfinishedRegistrations} works with. */
export interface UnfinishedRegistrationsParts {
  readonly users: GuardUsers;
  readonly pages: AccountPages;
  readonly mails: AccountMails;
  readonly tokens: ResetTokens;
  readonly access: AccountAccess;
  /** Whether users log in only once their address is verified. */
  readonly preventEnumeration: boolean;
  /** How long the link to choose a password can be used, in minutes; `null`: forever. */
  readonly expiresInMinutes: number | null;
}

/** Accounts whose address was registered and never verified, so that no one can log in to them. */
export class UnfinishedRegistrations {
  readonly #parts: UnfinishedRegistrationsParts;

  constructor(parts: UnfinishedRegistrationsParts) {
    this.#parts = parts;
  }

  /** Tells whether an account waits for its address to be verified before anyone can log in to it. */
  has(guard: string, user: AccountUser): boolean {
    const { pages, preventEnumeration } = this.#parts;
    if (!preventEnumeration || !pages.has(guard, FINISH_PAGE)) return false;
    return isVerifiable(user) && !user.hasVerifiedEmail();
  }

  /**
   * Mails the owner of an unfinished account's address a link to choose a password, and first voids the password and the
   * links that the account has so far.
   *
   * Security: of those who registered the address, no one knows which is its owner. All are told to follow the link in
   * their mail, so a link that verified the address would make the password of a stranger good by the owner's own click.
   *
   * The account is then what it was registered as last, and each link in a mail follows a registration: what a stranger
   * filled in before does not stay in the account of whoever registers the address and follows that link.
   *
   * @param isAllowed whether the limit lets a mail through. What voids something mails in any case, or the owner would be
   * left without a link; that happens once to an account, which then has no password to void.
   * @param columns what the account is registered with this time, besides the address and the password
   * @returns whether all is done; `false` if the account was verified, voided or changed since it was read
   */
  async offerPassword(
    guard: string,
    user: AccountUser,
    isAllowed: boolean,
    columns: Readonly<Record<string, unknown>>,
  ): Promise<boolean> {
    const { users, pages, mails, tokens, expiresInMinutes } = this.#parts;
    const isOpen = storedHash(user.passwordHash()) !== null;
    if (!isOpen && !isAllowed) return true;
    const token = await users.transaction(guard, async () => {
      return (await this.#registerAgain(guard, user, isOpen, columns)) ? tokens.issue(guard, user) : null;
    });
    if (token === null) return false;
    const { email } = user;
    const url = pages.url(guard, FINISH_PAGE, {}, { token });
    mails.tryQueue("finishRegistration", email, { guard, user, email, url, expiresInMinutes });
    return true;
  }

  /**
   * Gives an unfinished account what it is registered with this time, and voids its password and links if it has any.
   *
   * @returns whether it still was what it was read as
   */
  async #registerAgain(
    guard: string,
    user: AccountUser,
    isOpen: boolean,
    columns: Readonly<Record<string, unknown>>,
  ): Promise<boolean> {
    const model = this.#parts.users.of(guard);
    const { primaryKey, passwordColumn } = model;
    const changes = { ...columns, ...(isOpen && { ...user.accessChanges(), [passwordColumn]: NO_PASSWORD }) };
    if (Object.keys(changes).length === 0) return true;
    // One conditional UPDATE decides between this, another registration, and a verification that is under way.
    const row = model
      .where(primaryKey as "email", user.authId())
      .where("email", user.email)
      .whereNull("verified_at" as "email");
    const asRead = isOpen ? row.where(passwordColumn as "email", "!=", NO_PASSWORD) : row;
    if ((await asRead.update(changes as object)) === 0) return false;
    user.noteStored(changes);
    if (isOpen) await this.#parts.access.end(user);
    return true;
  }
}
