import type { AccountUser, NewAccount } from "../account-store.ts";
import { endAccessOnProof } from "../end-access.ts";
import { NO_PASSWORD, storedHash } from "../stored-hash.ts";
import type { AccountAccess } from "./account-access.ts";
import type { AccountMails } from "./account-mails.ts";
import type { AccountPages } from "./account-pages.ts";
import { isVerifiable } from "./account-user.ts";
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
   * @param attributes what the account is registered with this time, besides the address and the password
   * @returns whether all is done; `false` if the account was verified, voided or changed since it was read
   */
  async offerPassword(
    guard: string,
    user: AccountUser,
    isAllowed: boolean,
    attributes: NewAccount["attributes"],
  ): Promise<boolean> {
    const { users, pages, mails, tokens, expiresInMinutes } = this.#parts;
    const hash = storedHash(user.passwordHash());
    const isOpen = hash !== null;
    if (!isOpen && !isAllowed) return true;
    const token = await users.transaction(guard, async () => {
      const changed = await this.#registerAgain(guard, user, hash, attributes);
      return changed === null ? null : tokens.issue(guard, changed);
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
   * @returns the user with that; `null` if the account no longer was what it was read as
   */
  async #registerAgain(
    guard: string,
    user: AccountUser,
    hash: string | null,
    attributes: NewAccount["attributes"],
  ): Promise<AccountUser | null> {
    const store = this.#parts.users.of(guard);
    const asRead = { email: user.email, verifiedAt: null };
    if (hash === null) return Object.keys(attributes).length === 0 ? user : store.update(user, { attributes }, asRead);
    // One conditional change decides between this, another registration, and a verification that is under way.
    const changed = await endAccessOnProof(
      store,
      user,
      { attributes, passwordHash: NO_PASSWORD },
      { ...asRead, passwordHash: hash },
    );
    if (changed !== null) await this.#parts.access.end(changed);
    return changed;
  }
}
