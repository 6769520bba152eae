import type { Events } from "../../../events/index.ts";
import type { HttpContext, HttpRequest } from "../../../http/index.ts";
import type { Mailer } from "../../../mail/index.ts";
import { normalizeEmail } from "../../../security/index.ts";
import { currentDate, type RegisteredUser } from "../../../support/index.ts";
import { accessEpochOf } from "../../access/access-epoch.ts";
import { announce } from "../../events.ts";
import type { AccountStore, AccountUser } from "../../users/account-store.ts";
import { isBlocked, isVerifiable } from "../../users/authenticatable.ts";
import type { AccountLinks, VerificationClaim } from "../links/account-links.ts";
import type { AccountPages } from "../links/account-pages.ts";
import type { AccountMails } from "../mails/account-mails.ts";
import { asAccountUser } from "../users/account-user.ts";
import { requireUser, takeOver } from "../users/current-user.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { EmailChange } from "./email-change.ts";
import type { MustVerifyEmailInstance } from "./must-verify-email.ts";
import { outcomeFor, type VerificationLink, type VerificationOutcome } from "./verification-outcome.ts";

/** The dependencies of {@link EmailVerification}. */
export interface EmailVerificationDependencies {
  readonly users: GuardUsers;
  readonly pages: AccountPages;
  readonly links: AccountLinks;
  readonly mails: AccountMails;
  /** Follows links to a new address. */
  readonly emailChange: EmailChange;
  /** Returns the application's events; `null` if it has none. */
  readonly events: () => Events | null;
  /** How long a link can be used, in minutes. */
  readonly expiresInMinutes: number;
}

/** Proves that an address is the user's, with a link that is mailed to it. */
export class EmailVerification {
  readonly #dependencies: EmailVerificationDependencies;
  readonly #sent = new WeakSet<object>();

  constructor(dependencies: EmailVerificationDependencies) {
    this.#dependencies = dependencies;
  }

  /** Notes that a user, as read in this request, was mailed a link when registering, so that no other one is mailed. */
  wasSent(user: AccountUser): void {
    this.#sent.add(user);
  }

  /** Mails a new verification link to a user; see `Accounts.sendVerification`. */
  async send(context: HttpContext, given?: RegisteredUser): Promise<boolean> {
    const user = given === undefined ? await requireUser(context) : asAccountUser(given);
    // Checked first, because without the mixin there is nothing to send.
    if (!isVerifiable(user) || user.hasVerifiedEmail() || user.email === null || isBlocked(user)) return false;
    if (this.#sent.has(user)) return true;
    const mailer = await this.#dependencies.mails.prepare();
    await this.mail(user, mailer, context.request);
    return true;
  }

  /** Mails a user a link that verifies the address, with the user's own method `verifyEmail` if the class has one. */
  async mail(
    user: AccountUser & Partial<MustVerifyEmailInstance>,
    mailer: Mailer,
    request: HttpRequest,
  ): Promise<void> {
    await (user.verifyEmail?.(mailer, request) ?? this.mailLink(user, mailer, request));
  }

  /** Mails a user a link that verifies the address; this is what `user.verifyEmail(mail, request)` does. */
  async mailLink(user: AccountUser, mailer: Mailer, request: HttpRequest): Promise<void> {
    const { users, pages, mails, events, expiresInMinutes } = this.#dependencies;
    const guard = users.guardOf(user, request.context);
    const { email } = user;
    if (email === null) return;
    const url = pages.verificationUrl(guard, user, null);
    await mails.prepare();
    const data = { guard, language: request.language(), user, email, isChange: false, url, expiresInMinutes };
    await mails.queue("verifyEmail", email, data, mailer);
    const told = { time: currentDate(), address: request.clientAddress, guard, user, email };
    void events()?.emit("auth.verification_sent", told);
  }

  /** Reads the contents of a verification link; see `Accounts.readVerification`. */
  read(context: HttpContext, token: unknown): VerificationLink | null {
    const claim = this.#claimOf(context, token);
    return claim === null ? null : { email: claim.newEmail ?? claim.email!, isChange: claim.newEmail !== null };
  }

  /** Follows a verification link; see `Accounts.verifyEmail`. */
  async complete(context: HttpContext, token: unknown): Promise<VerificationOutcome> {
    const claim = this.#claimOf(context, token);
    if (claim === null) return "invalid";
    const store = this.#dependencies.users.named(claim.guard);
    if (store === null) return "invalid";
    const own = await ownUser(context, claim);
    const user = own ?? (await store.findByAuthId(claim.id));
    const outcome = outcomeFor(user, claim);
    if (user === null || outcome !== "verified") return outcome;
    const { method } = context.request.raw;
    // A mail scanner follows every link: its GET could give the mailbox's address to a stranger's account.
    if (own === null && isSafe(method)) return "confirm";
    // HEAD returns the result that GET would have, and changes nothing, because some mail clients use it to check
    // links.
    if (method === "HEAD") return outcome;
    if (claim.newEmail === null) return this.#confirm(context, store, user, claim);
    // An earlier version may have mailed the link, with another spelling.
    const newEmail = normalizeEmail(claim.newEmail);
    return newEmail === null ? "invalid" : this.#dependencies.emailChange.complete(context, user, claim, newEmail);
  }

  async #confirm(
    context: HttpContext,
    store: AccountStore,
    proved: AccountUser,
    claim: VerificationClaim,
  ): Promise<VerificationOutcome> {
    const { guard, id } = claim;
    const { email } = proved;
    // One conditional change decides between parallel uses: only one of them verifies the address.
    const conditions = { email: email!, accessEpoch: accessEpochOf(proved), verifiedAt: null };
    const changed = await store.update(proved, { verifiedAt: currentDate() }, conditions);
    const user = await store.findByAuthId(id);
    if (changed === null || user === null) return outcomeFor(user, claim);
    if (((await context.auth.user()) as object | null) === proved) takeOver(context, changed);
    announce(context, "auth.email_verified", guard, { user });
    return "verified";
  }

  /** A link that was created for another guard's page is not valid here. */
  #claimOf(context: HttpContext, token: unknown): VerificationClaim | null {
    const { links, pages } = this.#dependencies;
    const read = links.readVerification(token);
    return read !== null && pages.isShared("email.verify", read.guard, context.auth.guardName) ? read : null;
  }
}

function isSafe(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** The user of the request itself, if the link is about them: their login continues after a change of address. */
async function ownUser(context: HttpContext, { guard, id }: VerificationClaim): Promise<AccountUser | null> {
  if (context.auth.guardName !== guard) return null;
  const user = await context.auth.user();
  return user !== null && String((user as AccountUser).authId()) === id ? asAccountUser(user) : null;
}
