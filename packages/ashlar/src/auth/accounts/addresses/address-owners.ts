import type { NewAccount } from "../../users/account-store.ts";
import { EMAIL_TAKEN_LIMIT } from "../limits.ts";
import type { AccountPages } from "../links/account-pages.ts";
import type { AccountMails, MailLimits } from "../mails/account-mails.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { UnfinishedRegistrations } from "./unfinished-registrations.ts";

/** The dependencies of {@link AddressOwners}. */
export interface AddressOwnersDependencies {
  readonly users: GuardUsers;
  readonly pages: AccountPages;
  readonly mails: AccountMails;
  readonly limits: MailLimits;
  readonly unfinished: UnfinishedRegistrations;
}

/** Notifies the owner of an address when someone tries to use it for another account. */
export class AddressOwners {
  readonly #dependencies: AddressOwnersDependencies;

  constructor(dependencies: AddressOwnersDependencies) {
    this.#dependencies = dependencies;
  }

  /** Counts a mail to the owner of an address, and reports whether it may be sent. */
  mayBeTold(guard: string, email: string): Promise<boolean> {
    return this.#dependencies.limits.allows(EMAIL_TAKEN_LIMIT, guard, email);
  }

  /**
   * Notifies the owner of an address by mail that someone tried to use it for another account, at a limited rate. An
   * address that is only reserved, because a change of address can still be undone, has no owner to notify. If the
   * owner's account was never verified, with `preventEnumeration`, the mail has a link to choose a password: see
   * {@link UnfinishedRegistrations}.
   *
   * Security: call it in the background. The response time must not reveal whether there is an owner.
   *
   * @param attributes the other values that the address was registered with
   */
  async tell(
    guard: string,
    email: string,
    isChange: boolean,
    attributes: NewAccount["attributes"] = {},
  ): Promise<void> {
    const { users, pages, mails, unfinished } = this.#dependencies;
    const store = users.of(guard);
    let user = await store.findByEmail(email);
    if (user === null) return;
    // Counted before anything is invalidated: a request that finds it invalidated then also finds it counted, so that
    // only one mail is sent.
    const isAllowed = await this.mayBeTold(guard, email);
    await mails.prepare();
    if (unfinished.has(guard, user)) {
      if (await unfinished.offerPassword(guard, user, isAllowed, attributes)) return;
      // Another request has just verified or invalidated it. In the latter case, that request notifies the owner.
      user = await store.findByEmail(email);
      if (user === null || unfinished.has(guard, user)) return;
    }
    if (!isAllowed) return;
    const to = user.email!;
    await mails.tryQueue("emailTaken", to, {
      guard,
      user,
      email: to,
      isChange,
      loginUrl: pages.urlIfAny(guard, "login"),
    });
  }
}
