import { UniqueViolationError } from "../../../database/index.ts";
import type { HttpContext } from "../../../http/index.ts";
import type { Background } from "../../../kernel/index.ts";
import { isSameEmail } from "../../../security/index.ts";
import { currentDate, ValidationError } from "../../../support/index.ts";
import { announce } from "../../events.ts";
import { message } from "../../messages.ts";
import type { AccountUser } from "../../users/account-store.ts";
import { isVerifiable, type UserId } from "../../users/authenticatable.ts";
import type { AccountAccess, LoginKeeper } from "../access/account-access.ts";
import { type AccountLinks, UNDO_EXPIRES_IN_HOURS, type VerificationClaim } from "../links/account-links.ts";
import type { AccountPages } from "../links/account-pages.ts";
import type { AccountPromises, PromiseWork } from "../links/account-promises.ts";
import type { AccountMails } from "../mails/account-mails.ts";
import type { CompleteAccountsSettings } from "../mails/settings.ts";
import type { PasswordResetTable } from "../passwords/password-reset-table.ts";
import { requireEmail } from "../users/account-input.ts";
import { keeperOf, requirePassword, requireUser, takeOver } from "../users/current-user.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { AddressOwners } from "./address-owners.ts";
import type { EmailChangeTable } from "./email-change-table.ts";
import { ReservedAddress, type ReservedAddresses, TAKEN } from "./reserved-addresses.ts";
import { outcomeFor, type VerificationOutcome } from "./verification-outcome.ts";

/** The dependencies of {@link EmailChange}. */
export interface EmailChangeDependencies {
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
  readonly promises: AccountPromises;
}

/** The stored data of a request for a change of address. */
interface ChangeRequest {
  readonly id: UserId;
  readonly email: string | null;
  readonly newEmail: string;
  /** The link that makes the change. */
  readonly url: string;
  readonly language: string;
}

/** A change of address that is carried out. */
interface Replacement {
  /** The new address. */
  readonly email: string;
  /** The token that undoes it, in a link to the old address; `null` if the account had no address. */
  readonly undo: { readonly token: string; readonly previousEmail: string } | null;
  /** Whether no other account can take the old address as long as the change can be undone. */
  readonly isReserved: boolean;
  /** The guard of the request's login, which continues; `null` if the login isn't the user's. */
  readonly keeper: LoginKeeper | null;
  readonly address: string | null;
  /** Notifies the owner of the old address, in the transaction of the change. */
  readonly tell: (user: AccountUser) => Promise<void>;
}

/** Changes the address of a user who is logged in: with a request, and a link that is mailed to the new address. */
export class EmailChange {
  readonly #dependencies: EmailChangeDependencies;

  readonly #promiseLink: PromiseWork<ChangeRequest, AccountUser>;

  constructor(dependencies: EmailChangeDependencies) {
    this.#dependencies = dependencies;
    this.#promiseLink = dependencies.promises.declare<ChangeRequest, AccountUser>(
      "email_change",
      "a change of address",
      (context, request, user) => this.#mailLink(context, request, user),
    );
  }

  /** Mails a link to a new address of the user who is logged in; see `Accounts.requestEmailChange`. */
  async request(context: HttpContext, input: unknown, password: unknown): Promise<void> {
    const { pages, mails, addresses, owners, background } = this.#dependencies;
    const user = await requireUser(context);
    const guard = context.auth.guardName;
    await mails.prepare();
    const newEmail = requireEmail(input);
    const { email } = user;
    const url = pages.verificationUrl(guard, user, newEmail);
    // Without it, the change could be requested, but not completed.
    pages.url(guard, "email.undo", { token: "-" });
    await requirePassword(context, password, "password");
    if (isSameEmail(newEmail, email)) throw new ValidationError({ email: [message("auth.email.unchanged")] });
    if (!this.#dependencies.settings.preventEnumeration) {
      if (await addresses.isTaken(guard, newEmail, user)) {
        background.run("a notice to the owner of an address", () => owners.tell(guard, newEmail, true));
        throw new ValidationError({ email: [TAKEN] });
      }
      announce(context, "auth.email_change_requested", guard, { user, previousEmail: email, email: newEmail });
    }
    await this.#promiseLink(context, { id: user.authId(), email, newEmail, url, language: context.language }, user);
  }

  async #mailLink(context: HttpContext, request: ChangeRequest, known: AccountUser | null): Promise<void> {
    const { users, mails, addresses, owners, settings } = this.#dependencies;
    const { id, email, newEmail, url, language } = request;
    const { preventEnumeration, emailChangeExpiresInMinutes: expiresInMinutes } = settings;
    const guard = context.auth.guardName;
    const user = known ?? (await users.of(guard).findByAuthId(id));
    // The user was deleted or changed in the meantime, so the link would no longer work.
    if (user === null || !isSameEmail(user.email, email)) return;
    await mails.prepare();
    if (preventEnumeration && (await addresses.isTaken(guard, newEmail, user))) {
      await owners.tell(guard, newEmail, true);
    } else {
      if (preventEnumeration) {
        announce(context, "auth.email_change_requested", guard, { user, previousEmail: email, email: newEmail });
      }
      const data = { guard, language, user, email: newEmail, isChange: true, url, expiresInMinutes };
      await mails.tryQueue("verifyEmail", newEmail, data);
    }
    // It is always sent, because it goes to the user's own mailbox.
    if (email !== null) await mails.tryQueue("emailChanged", email, { guard, language, user, email, newEmail });
  }

  /**
   * Replaces the address of an account after the link to the new one was opened. This ends all access to the account,
   * except the login of the request itself if that is the user's.
   */
  async complete(
    context: HttpContext,
    owner: AccountUser,
    claim: VerificationClaim,
    email: string,
  ): Promise<VerificationOutcome> {
    const { users, pages, links, mails } = this.#dependencies;
    await mails.prepare();
    const { guard, id, email: previousEmail } = claim;
    const undo = previousEmail === null ? null : { previousEmail, token: links.undo({ guard, id }) };
    const wasVerified = isVerifiable(owner) && owner.hasVerifiedEmail();
    const isOwn = context.auth.guardName === guard && ((await context.auth.user()) as object | null) === owner;
    // An address that was never proved may belong to someone else, who must be able to register it.
    const isReserved = wasVerified || !isVerifiable(owner);
    const tell = async (changed: AccountUser) => {
      if (undo === null) return;
      const url = pages.url(guard, "email.undo", { token: undo.token });
      const { language } = context;
      const data = { guard, language, user: changed, email: undo.previousEmail, newEmail: email, url };
      const expiresInHours = UNDO_EXPIRES_IN_HOURS;
      await mails.tryQueue("emailChangeCompleted", undo.previousEmail, { ...data, expiresInHours });
    };
    let user: AccountUser | null;
    try {
      const keeper = isOwn ? keeperOf(context) : null;
      const address = context.request.clientAddress;
      user = await this.#make(owner, claim, { email, undo, isReserved, keeper, address, tell });
    } catch (error) {
      // Since the link was created, another account has taken the address, or an account that can still reclaim it has
      // freed it.
      if (error instanceof UniqueViolationError || error instanceof ReservedAddress) return "invalid";
      throw error;
    }
    if (user === null) return outcomeFor(await users.of(guard).findByAuthId(id), claim);
    if (isOwn) takeOver(context, user);
    announce(context, "auth.email_changed", guard, { user, previousEmail, email });
    if (isVerifiable(user) && !wasVerified) announce(context, "auth.email_verified", guard, { user });
    return "verified";
  }

  /**
   * Replaces the address, and stores what undoes it.
   *
   * @returns the user with the new address; `null` if the proof that the link is based on no longer holds
   */
  async #make(owner: AccountUser, claim: VerificationClaim, change: Replacement): Promise<AccountUser | null> {
    const { users, emailChanges } = this.#dependencies;
    const { guard } = claim;
    const { undo, isReserved } = change;
    const record = async () => {
      if (undo === null) return;
      await emailChanges.record(guard, owner.authId(), undo.previousEmail, undo.token, isReserved);
    };
    if (users.commitWithAuth(guard)) return this.#replace(owner, claim, change, record);
    // Users in another database commit first. If the reservation were only committed afterward, a thief could register
    // the freed address in between, and the owner's link could not restore it.
    await record();
    let user: AccountUser | null;
    try {
      user = await this.#replace(owner, claim, change);
    } catch (error) {
      if (undo !== null) this.#withdrawUnlessMade(claim, undo.token);
      throw error;
    }
    if (user === null && undo !== null) await emailChanges.withdraw(undo.token);
    return user;
  }

  /** Removes the reservation of a change that failed, unless the users' database has made the change nevertheless. */
  #withdrawUnlessMade({ guard, id, email }: VerificationClaim, token: string): void {
    const { users, emailChanges, background } = this.#dependencies;
    background.run("the end of a reserved address", async () => {
      const user = await users.of(guard).findByAuthId(id);
      if (user === null || isSameEmail(user.email, email)) await emailChanges.withdraw(token);
    });
  }

  /** @param record stores what undoes the change, in the same transaction */
  #replace(
    owner: AccountUser,
    { guard }: VerificationClaim,
    { email, undo, isReserved, keeper, address, tell }: Replacement,
    record?: () => Promise<void>,
  ): Promise<AccountUser | null> {
    const { users, resets, addresses, access } = this.#dependencies;
    return access.end(guard, owner, {
      what: "others",
      reason: "email_changed",
      proof: "user",
      keeper,
      address,
      // Opening the link has proved that the new address is theirs.
      changes: { email, ...(isVerifiable(owner) ? { verifiedAt: currentDate() } : {}) },
      write: async (update) => {
        const user = await update();
        if (user === null) return null;
        await addresses.refuseReserved(guard, email, user);
        await record?.();
        // If the user is deleted later, data under an unreserved address could no longer be distinguished from another
        // user's.
        if (!isReserved && undo !== null) {
          await resets.delete(users.guardsKeeping(user.constructor), [undo.previousEmail]);
        }
        return user;
      },
      also: tell,
    });
  }
}
