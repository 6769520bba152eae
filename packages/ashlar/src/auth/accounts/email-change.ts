import { UniqueViolationError } from "../../database/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { Background } from "../../kernel/index.ts";
import { currentDate, ValidationError } from "../../support/index.ts";
import type { AccountUser } from "../account-store.ts";
import { endAccessOnProof } from "../end-access.ts";
import { announce } from "../events.ts";
import { message } from "../messages.ts";
import type { AccountAccess } from "./account-access.ts";
import { requireEmail } from "./account-input.ts";
import { type AccountLinks, UNDO_EXPIRES_IN_HOURS, type VerificationClaim } from "./account-links.ts";
import type { AccountMails } from "./account-mails.ts";
import type { AccountPages } from "./account-pages.ts";
import { isVerifiable } from "./account-user.ts";
import type { AddressOwners } from "./address-owners.ts";
import { requirePassword, requireUser, takeOver } from "./current-user.ts";
import type { EmailChangeTable } from "./email-change-table.ts";
import type { GuardUsers } from "./guard-users.ts";
import type { PasswordResetTable } from "./password-reset-table.ts";
import { ReservedAddress, type ReservedAddresses, TAKEN } from "./reserved-addresses.ts";
import type { CompleteAccountsSettings } from "./settings.ts";
import { outcomeFor, type VerificationOutcome } from "./verification-outcome.ts";

/** What {@link EmailChange} works with. */
export interface EmailChangeParts {
  readonly settings: CompleteAccountsSettings;
  readonly users: GuardUsers;
  readonly pages: AccountPages;
  readonly links: AccountLinks;
  readonly mails: AccountMails;
  readonly resets: PasswordResetTable;
  readonly emailChanges: EmailChangeTable;
  readonly addresses: ReservedAddresses;
  readonly owners: AddressOwners;
  readonly access: AccountAccess;
  readonly background: Background;
}

/** A new address for a user who is logged in: asked for, and made by the link that is mailed there. */
export class EmailChange {
  readonly #parts: EmailChangeParts;

  constructor(parts: EmailChangeParts) {
    this.#parts = parts;
  }

  /** Mails a link to a new address of the user who is logged in; see `Accounts.requestEmailChange`. */
  async request(context: HttpContext, input: unknown, password: unknown): Promise<void> {
    const { pages, mails, addresses, owners, background } = this.#parts;
    const user = await requireUser(context);
    const guard = context.auth.guardName;
    await mails.prepare();
    const newEmail = requireEmail(input);
    const { email } = user;
    const url = pages.verificationUrl(guard, user, newEmail);
    // Without it the change could be asked for, and not be made.
    pages.url(guard, "email.undo", { token: "-" });
    await requirePassword(context, password, "password");
    if (newEmail === email) throw new ValidationError({ email: [message("auth.email.unchanged")] });
    const { preventEnumeration, emailChangeExpiresMinutes: expiresInMinutes } = this.#parts.settings;
    const request = () => {
      announce(context, "auth.email_change_requested", guard, { user, previousEmail: email, email: newEmail });
    };
    if (!preventEnumeration) {
      if (await addresses.isTaken(guard, newEmail, user)) {
        background.run("a notice to the owner of an address", () => owners.tell(guard, newEmail, true));
        throw new ValidationError({ email: [TAKEN] });
      }
      request();
    }
    const { language } = context;
    background.run("a change of address", async () => {
      if (preventEnumeration && (await addresses.isTaken(guard, newEmail, user))) {
        await owners.tell(guard, newEmail, true);
      } else {
        if (preventEnumeration) request();
        const data = { guard, language, user, email: newEmail, isChange: true, url, expiresInMinutes };
        mails.tryQueue("verifyEmail", newEmail, data);
      }
      // In any case: it goes to a mailbox of the one who asks.
      mails.tryQueue("emailChanged", email, { guard, language, user, email, newEmail });
    });
  }

  /**
   * Replaces the address of an account, for someone who has followed the link to the new one. All access to the account
   * ends with it, except the login of the request itself if that is the user's.
   */
  async complete(
    context: HttpContext,
    owner: AccountUser,
    claim: VerificationClaim,
    email: string,
  ): Promise<VerificationOutcome> {
    const { users, pages, links, mails } = this.#parts;
    await mails.prepare();
    const { guard, id, email: previousEmail } = claim;
    const token = links.undo({ guard, id });
    const url = pages.url(guard, "email.undo", { token });
    const wasVerified = isVerifiable(owner) && owner.hasVerifiedEmail();
    const isOwn = context.auth.guardName === guard && ((await context.auth.user()) as object | null) === owner;
    let user: AccountUser | null;
    try {
      user = await users.transaction(guard, () =>
        this.#replace(owner, claim, { email, token, wasVerified, keepFor: isOwn ? context : null }),
      );
    } catch (error) {
      // The address became another account's since the link was made, or was freed by one that can still take it back.
      if (error instanceof UniqueViolationError || error instanceof ReservedAddress) return "invalid";
      throw error;
    }
    if (user === null) return outcomeFor(await users.of(guard).findByAuthId(id), claim);
    if (isOwn) takeOver(context, user);
    const data = { guard, language: context.language, user, email: previousEmail, newEmail: email, url };
    mails.tryQueue("emailChangeCompleted", previousEmail, { ...data, expiresInHours: UNDO_EXPIRES_IN_HOURS });
    announce(context, "auth.email_changed", guard, { user, previousEmail, email });
    if (isVerifiable(user) && !wasVerified) announce(context, "auth.email_verified", guard, { user });
    return "verified";
  }

  /** @returns the user with the new address; `null` if the proof no longer holds that the link rests on */
  async #replace(
    owner: AccountUser,
    { guard, email: previousEmail }: VerificationClaim,
    change: {
      readonly email: string;
      readonly token: string;
      readonly wasVerified: boolean;
      readonly keepFor: HttpContext | null;
    },
  ): Promise<AccountUser | null> {
    const { users, resets, emailChanges, addresses, access } = this.#parts;
    const { email, token, wasVerified, keepFor } = change;
    // Following the link has shown that the new address is theirs.
    const proof = isVerifiable(owner) ? { verifiedAt: currentDate() } : {};
    const user = await endAccessOnProof(users.of(guard), owner, { email, ...proof });
    if (user === null) return null;
    await addresses.refuseReserved(guard, email, user);
    // One that was never proved may be a stranger's, who must be able to register it.
    const isReserved = wasVerified || !isVerifiable(user);
    await emailChanges.record(guard, user.authId(), previousEmail, token, isReserved);
    // What is kept under an address that is not reserved can't be told from another user's by the time of a deletion.
    if (!isReserved) await resets.delete(users.guardsKeeping(user.constructor), [previousEmail]);
    await access.end(user, keepFor);
    return user;
  }
}
