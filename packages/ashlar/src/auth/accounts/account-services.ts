import type { Application } from "../../boot/index.ts";
import type { Database } from "../../database/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { RegisteredUser } from "../../support/index.ts";
import { hasPassword } from "../passwords/verify-credentials.ts";
import type { AccountUser } from "../users/account-store.ts";
import { closesAtOf, isVerifiable } from "../users/authenticatable.ts";
import type { UserDataRegistry } from "../users/user-data.ts";
import { AccountAccess } from "./access/account-access.ts";
import { AccountBlocks } from "./access/account-blocks.ts";
import { AccountClosing } from "./access/account-closing.ts";
import { ClosedAccountRemoval } from "./access/closed-account-removal.ts";
import { FirstProof } from "./access/first-proof.ts";
import { PasswordVoiding } from "./access/password-voiding.ts";
import { UserDeletion } from "./access/user-deletion.ts";
import { type AccountData, accountData } from "./account-data.ts";
import { AccountPruning } from "./account-pruning.ts";
import { AddressOwners } from "./addresses/address-owners.ts";
import { EmailChange } from "./addresses/email-change.ts";
import { EmailChangeTable } from "./addresses/email-change-table.ts";
import { EmailUndo } from "./addresses/email-undo.ts";
import { EmailVerification } from "./addresses/email-verification.ts";
import { ReservedAddresses } from "./addresses/reserved-addresses.ts";
import { UnfinishedRegistrations } from "./addresses/unfinished-registrations.ts";
import type {} from "./events.ts";
import { AccountHistory } from "./history/account-history.ts";
import { SecurityEventsTable } from "./history/security-events-table.ts";
import { AccountLinks } from "./links/account-links.ts";
import { AccountPages, FrontEnd } from "./links/account-pages.ts";
import { AccountPromises } from "./links/account-promises.ts";
import { AccountMails, MailLimits, RemainingTokenSource } from "./mails/account-mails.ts";
import type { CompleteAccountsSettings, CompleteAuthSettings } from "./mails/settings.ts";
import { type AccountOverview, type AccountSection, accountSections } from "./pages/account-sections.ts";
import { DeviceLinks } from "./passwords/device-links.ts";
import { PasswordChange } from "./passwords/password-change.ts";
import { PasswordReset } from "./passwords/password-reset.ts";
import { PasswordResetTable } from "./passwords/password-reset-table.ts";
import { ResetEpochs } from "./passwords/reset-epochs.ts";
import { ResetTokens } from "./passwords/reset-tokens.ts";
import { EnumerationPrevention } from "./registration/enumeration-prevention.ts";
import { MailProofs } from "./registration/mail-proofs.ts";
import { Registration } from "./registration/registration.ts";
import { RegistrationEpochs } from "./registration/registration-epochs.ts";
import { requireUser } from "./users/current-user.ts";
import { GuardUsers } from "./users/guard-users.ts";

declare module "../../kernel/container.ts" {
  interface FrameworkServices {
    /** The services of the application's accounts. */
    accounts: AccountServices;
  }
}

/** How many devices are counted. */
const MAX_DEVICES = 100;

/**
 * The services of an application's accounts, each created once with its dependencies: the container's `accounts`.
 * `context.accounts` has the operations for a request.
 */
export class AccountServices {
  readonly settings: CompleteAccountsSettings;
  readonly users: GuardUsers;
  readonly links: AccountLinks;
  readonly pages: AccountPages;
  readonly mails: AccountMails;
  readonly mailLimits: MailLimits;
  readonly promises: AccountPromises;
  readonly remainingTokens: RemainingTokenSource;
  readonly resets: PasswordResetTable;
  readonly emailChanges: EmailChangeTable;
  readonly history: AccountHistory;
  readonly tokens: ResetTokens;
  readonly access: AccountAccess;
  readonly blocks: AccountBlocks;
  readonly closing: AccountClosing;
  readonly removal: ClosedAccountRemoval;
  readonly registration: Registration;
  readonly enumerationPrevention: EnumerationPrevention;
  readonly emailVerification: EmailVerification;
  readonly emailChange: EmailChange;
  readonly emailUndo: EmailUndo;
  readonly firstProof: FirstProof;
  readonly mailProofs: MailProofs;
  readonly deviceLinks: DeviceLinks;
  readonly passwordReset: PasswordReset;
  readonly passwordChange: PasswordChange;
  readonly passwordVoiding: PasswordVoiding;
  /** What accounts themselves store about users. */
  readonly data: AccountData;
  readonly userData: UserDataRegistry;
  readonly deletion: UserDeletion;
  readonly pruning: AccountPruning;

  readonly #application: Application;
  #sections: readonly AccountSection[] | null = null;

  constructor(application: Application, configured: CompleteAuthSettings) {
    this.#application = application;
    const { background, container, settings: own } = application;
    const { accounts, passwordResetTable, passwordResetExpirationInMinutes, ...auth } = configured;
    const { firstPasswordByMail, mailables, preventEnumeration, retention, verificationExpiresInMinutes } = accounts;
    const database = (): Database => container.make("database");
    const logins = container.make("logins");
    const users = new GuardUsers({ ...auth, database });
    const links = new AccountLinks(own.key, accounts, { previousSecrets: own.previousKeys });
    const frontEnd = new FrontEnd(accounts.frontEndUrl, application);
    const pages = new AccountPages({
      pages: container.make("auth").pages,
      links,
      application,
      frontEnd,
    });
    const remainingTokens = new RemainingTokenSource();
    const mails = new AccountMails({
      application,
      container,
      mailables,
      declared: container.make("accounts.mails"),
      pages,
      remainingTokens,
    });
    const mailLimits = new MailLimits(container);
    const resets = new PasswordResetTable(database, passwordResetTable, passwordResetExpirationInMinutes);
    const emailChanges = new EmailChangeTable(database);
    const securityEvents = new SecurityEventsTable(database);
    const events = () => (container.has("events") ? container.make("events") : null);
    const access = new AccountAccess({ users, logins, events, hasDatabase: () => container.has("database") });
    const addresses = new ReservedAddresses({ users, pages, emailChanges });
    const tokens = new ResetTokens({ users, links, resets });
    const promises = new AccountPromises(application);
    const common = {
      users,
      pages,
      links,
      mails,
      promises,
      resets,
      emailChanges,
      tokens,
      addresses,
      access,
      background,
    };
    const expiresInMinutes = passwordResetExpirationInMinutes;
    this.data = accountData({ logins, resets, emailChanges, securityEvents });
    this.history = new AccountHistory({ application, users, table: securityEvents });
    this.userData = container.make("userData");
    this.deletion = new UserDeletion({ users, userData: this.userData, database, events });
    const { deletion, userData } = this;
    const unfinished = new UnfinishedRegistrations({ ...common, deletion, preventEnumeration, expiresInMinutes });
    const owners = new AddressOwners({ ...common, limits: mailLimits, unfinished });
    const prevention = new EnumerationPrevention({ ...common, isOn: preventEnumeration });
    this.settings = accounts;
    this.users = users;
    this.links = links;
    this.pages = pages;
    this.mails = mails;
    this.mailLimits = mailLimits;
    this.promises = promises;
    this.remainingTokens = remainingTokens;
    this.resets = resets;
    this.emailChanges = emailChanges;
    this.tokens = tokens;
    this.access = access;
    this.blocks = new AccountBlocks({ users, access, events });
    const guards = container.make("auth");
    const { closing } = accounts;
    this.removal = new ClosedAccountRemoval({
      users,
      access,
      deletion,
      userData,
      closing,
      guards: () => guards.names,
      logger: application.logger,
    });
    const { removal } = this;
    this.closing = new AccountClosing({ users, access, mails, pages, removal, closing, events });
    guards.closedAccounts = this.closing;
    this.passwordVoiding = new PasswordVoiding({ access, events });
    this.enumerationPrevention = prevention;
    this.emailChange = new EmailChange({ ...common, settings: accounts, owners });
    this.emailVerification = new EmailVerification({
      ...common,
      emailChange: this.emailChange,
      events,
      expiresInMinutes: verificationExpiresInMinutes,
    });
    const verification = this.emailVerification;
    this.registration = new Registration({
      ...common,
      owners,
      unfinished,
      preventEnumeration,
      prevention,
      verification,
      epochs: new RegistrationEpochs(own.key),
    });
    this.emailUndo = new EmailUndo(common);
    this.mailProofs = new MailProofs(application);
    this.firstProof = new FirstProof({ ...common, proofs: container.make("proofs") });
    this.deviceLinks = new DeviceLinks({ ...common, application, container });
    container.make("auth").guesses.warnings = this.deviceLinks;
    this.passwordReset = new PasswordReset({
      ...common,
      firstProof: this.firstProof,
      epochs: new ResetEpochs(own.key),
      expiresInMinutes,
      firstPasswordByMail,
    });
    this.passwordChange = new PasswordChange(common);
    const hasDatabase = () => container.has("database");
    this.pruning = new AccountPruning({ ...common, logins, securityEvents, retention, removal, hasDatabase });
  }

  /** The data for the page `account.security`; see `Accounts.overview`. */
  async overviewOf(context: HttpContext): Promise<AccountOverview> {
    const { auth, t } = context;
    const user = await requireUser(context);
    this.#sections ??= accountSections(this.#application);
    const sections: AccountOverview["sections"][number][] = [];
    for (const { title, page, entries } of this.#sections) {
      // Features without pages are omitted.
      if (!auth.hasRoute(page)) continue;
      const translate = t as (key: string) => string;
      const own = await entries(user as unknown as RegisteredUser);
      sections.push({ title: translate(title), url: auth.route(page), entries: own });
    }
    const { logins } = await auth.logins().page({ size: MAX_DEVICES });
    const email = (user.email ?? "").trim() === "" ? null : user.email;
    const isVerified = email !== null && isVerifiable(user) ? user.hasVerifiedEmail() : null;
    const closing = this.#closingOf(context, user);
    return { email, isVerified, hasPassword: hasPassword(user), closing, devices: logins.length, sections };
  }

  #closingOf({ auth }: HttpContext, user: AccountUser): AccountOverview["closing"] {
    // Without pages, there is no form, and clients send the request at once.
    const page = ["account.close", "account.close.store"].find((name) => auth.hasRoute(name));
    if (page === undefined) return null;
    const { graceDays, removal } = this.settings.closing;
    const closesAt = closesAtOf(user);
    const [isClosed, date] = [closesAt !== null, closesAt ?? this.closing.date()];
    return { url: auth.route(page), isClosed, date, graceDays, removal };
  }
}
