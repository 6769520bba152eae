import type { NewAccount } from "../account-store.ts";
import type { AccountMails } from "./account-mails.ts";
import type { AccountPages } from "./account-pages.ts";
import type { GuardUsers } from "./guard-users.ts";
import { EMAIL_TAKEN_LIMIT } from "./limits.ts";
import type { MailLimits } from "./mail-limits.ts";
import type { UnfinishedRegistrations } from "./unfinished-registrations.ts";

/** What {@link AddressOwners} works with. */
export interface AddressOwnersParts {
  readonly users: GuardUsers;
  readonly pages: AccountPages;
  readonly mails: AccountMails;
  readonly limits: MailLimits;
  readonly unfinished: UnfinishedRegistrations;
}

/** Those whose addresses someone else wanted to have for an account. */
export class AddressOwners {
  readonly #parts: AddressOwnersParts;

  constructor(parts: AddressOwnersParts) {
    this.#parts = parts;
  }

  /**
   * Mails the owner of an address that someone wanted it for another account, once in a while. An address that is only
   * reserved, because a change of address can still be undone, has no owner to tell. One whose account was never verified
   * is mailed a link to choose a password, with `preventEnumeration`: see {@link UnfinishedRegistrations}.
   *
   * Security: call it in the background. Whether there is an owner must not show in the time of an answer.
   *
   * @param attributes what else the address was registered with
   */
  async tell(
    guard: string,
    email: string,
    isChange: boolean,
    attributes: NewAccount["attributes"] = {},
  ): Promise<void> {
    const { users, pages, mails, limits, unfinished } = this.#parts;
    const store = users.of(guard);
    let user = await store.findByEmail(email);
    if (user === null) return;
    // Counted before anything is voided: who finds it voided then finds it counted, and one mail goes out.
    const isAllowed = await limits.allows(EMAIL_TAKEN_LIMIT, guard, email);
    await mails.prepare();
    if (unfinished.has(guard, user)) {
      if (await unfinished.offerPassword(guard, user, isAllowed, attributes)) return;
      // Verified or voided at this moment. Of the latter its owner is told by the one who has done it.
      user = await store.findByEmail(email);
      if (user === null || unfinished.has(guard, user)) return;
    }
    if (!isAllowed) return;
    mails.tryQueue("emailTaken", email, { guard, user, email, isChange, loginUrl: pages.urlIfAny(guard, "login") });
  }
}
