import type { RegisteredUser } from "../../support/index.ts";
import { AccountAdministration } from "./account-administration.ts";
import type { EmailChangeUndo, UndoableEmailChange } from "./addresses/email-undo.ts";
import type { VerificationLink, VerificationOutcome } from "./addresses/verification-outcome.ts";
import type { RemainingTokens } from "./mails/account-mails.ts";
import type { AccountOverview } from "./pages/account-sections.ts";
import type { UsableDeviceLink } from "./passwords/device-links.ts";
import type { UsablePasswordReset } from "./passwords/password-reset.ts";
import type { ProvedAttributes, RegistrationAttributes, RegistrationWork } from "./registration/registration.ts";

declare module "../../http/exchange/context.ts" {
  interface FrameworkContext {
    /** Operations on accounts, such as registering, verifying an address, and setting a new password. */
    readonly accounts: Accounts;
  }
}

/**
 * The life of an account, from registration to a forgotten password: `context.accounts`.
 *
 * It works on the users of the active guard, except when a link identifies the account. Inputs can be passed as
 * they arrive, whatever their type: if something isn't the text that it should be, that is an `E_INVALID_INPUT`. Mails
 * are queued; no method waits for them.
 */
export class Accounts extends AccountAdministration {
  /**
   * Creates an account. It doesn't log anyone in. If the address is taken, its owner is notified by mail that someone
   * tried to register with it; otherwise, no mail is sent.
   *
   * If a visitor sends the same registration twice, for example because of a double click or a lost response, the
   * second call returns the same user and doesn't mail a warning. `belonging` does not run again; log the user in.
   *
   * With `ACCOUNTS.preventEnumeration`, it treats free and taken addresses alike. After the response, either the
   * account is created and a link that verifies the address is mailed, or the owner of the taken address is mailed.
   * Respond in the same way to both. You then have to check the values of unique columns other than `email` yourself
   * beforehand.
   *
   * ```ts
   * const { name, email, password, password_confirmation } = request.all();
   * const user = await accounts.register({ name, email, password, password_confirmation }, async (newcomer) => {
   *   await accounts.sendVerification(newcomer);
   *   await auth.loginAs(newcomer);
   * });
   * if (user !== null && !(await auth.check())) await auth.loginAs(user);
   * ```
   *
   * Security: other columns are set as `fill` sets them, or as `attributeKind` of an `AccountStore` allows. Pass only
   * the inputs that may be set, or list them in the model's `fillable`. The primary key, the times, and columns that a
   * mixin guards (password, API token, verification) are never set.
   *
   * @param attributes `email`, `password`, `password_confirmation`, and values for other columns; a `name` is a single
   *   line of text
   * @param belonging additional work for the registration. It runs in the same transaction, so if it fails, there is no
   * account, mail, login or event. Not called with `ACCOUNTS.preventEnumeration`
   * @returns the user; with `ACCOUNTS.preventEnumeration` always `null`
   * @throws `E_INVALID_INPUT` with all problems, by field; a taken address is only reported if there are no other
   *   problems; `E_OVERLOADED`; what `belonging` throws
   */
  register(attributes: RegistrationAttributes, belonging?: RegistrationWork): Promise<RegisteredUser | null> {
    this.context.auth.registry.unlimitedRoutes?.check(this.context, "throttle:register");
    const user = this.services.registration.register(this.context, attributes, belonging);
    return user as Promise<RegisteredUser | null>;
  }

  /**
   * Mails a link that sets a new password to the owner of the account with this address, if there is one. Links that were
   * mailed before stop working. The account itself does not change.
   *
   * Neither the result nor the duration reveals whether there is an account: the lookup and the mail both happen after
   * the response. Your response must be the same in both cases too. Failures are logged.
   *
   * @throws `E_INVALID_INPUT` if it is not an email address; `E_INVALID_CONFIGURATION` without `MailProvider`;
   *   `E_UNKNOWN_ROUTE` without the route `password_reset`
   */
  requestPasswordReset(email: unknown): Promise<void> {
    this.context.auth.registry.unlimitedRoutes?.check(this.context, "throttle:change_password");
    return this.services.passwordReset.request(this.context, email);
  }

  /**
   * Finds out whether a link's token can still set a new password, so that the page with the form can immediately say
   * if the link no longer works. Changes nothing. Put the returned address into a hidden field, so that password
   * managers recognize the account.
   *
   * Security: limit the route, as `Auth.routes` does.
   *
   * @param token the input `token` of the route `password_reset`
   * @returns `null` if {@link resetPassword} would return `null` for it
   */
  findPasswordReset(token: unknown): Promise<UsablePasswordReset | null> {
    return this.services.passwordReset.find(this.context, token);
  }

  /**
   * Sets a new password with a link's token, once. All of the user's logins end, the API token is revoked, and the user
   * is notified by mail. It doesn't log the user in. If a visitor sends the same form again, by a double click or
   * because the response was lost, the result is the same.
   *
   * Security: with `authenticates` off, API tokens are accepted until they expire; see {@link remainingTokens}.
   *
   * @returns the user; `null` if the token is not valid, was used, was replaced by a newer one, has expired, or became
   *   invalid because access to the account has ended since: by a new password or address, or a logout everywhere
   * @throws `E_INVALID_INPUT` if the password is refused, and the link still works then; `E_OVERLOADED`
   */
  resetPassword(token: unknown, password: unknown, confirmation: unknown): Promise<RegisteredUser | null> {
    this.context.auth.registry.unlimitedRoutes?.check(this.context, "throttle:password_reset");
    const user = this.services.passwordReset.complete(this.context, token, password, confirmation);
    return user as Promise<RegisteredUser | null>;
  }

  /**
   * Finds out whether a link's token can still let a device in, for the page with the button. Changes nothing. The link
   * is mailed to the owner of an account when unknown devices have used up their guesses at its password.
   *
   * @param token the parameter of the route `login.device`
   * @returns `isKnown` is true if the account already knows the request's device, or its user is logged in: the page
   *   then has no button, because the link is for another device. `null` if {@link allowDevice} would return `false`
   *   for it
   */
  findDeviceLink(token: unknown): Promise<UsableDeviceLink | null> {
    return this.services.deviceLinks.find(this.context, token);
  }

  /**
   * Makes the request's device known to the account that a link was mailed to, as a login would, once. It doesn't log
   * anyone in: the password is still required, but strangers' guesses no longer keep the device out. If the device is
   * already known, or the user is logged in, nothing happens, and the link can still be used on another device.
   *
   * Security: only call it for a POST. Some mail programs follow every link.
   *
   * @param token the parameter of the route `login.device`
   * @returns `false` if the token is not valid, was used, has expired, or became invalid because access to the account has
   *   ended since
   */
  allowDevice(token: unknown): Promise<boolean> {
    return this.services.deviceLinks.allow(this.context, token);
  }

  /**
   * Sets a new password for the current user. All other logins end, the API token is revoked, and the user is notified by
   * mail. Problems are reported under `current_password`, `password` and `password_confirmation`.
   *
   * Security: with `authenticates` off, API tokens are accepted until they expire; see {@link remainingTokens}.
   *
   * If a login step has to be passed on its own page first, the visitor is sent there, and then back to the form to
   * submit it again. The step is then skipped for ten minutes in that login.
   *
   * @throws `E_UNAUTHENTICATED`; `E_INVALID_INPUT`; `E_LOGIN_PENDING`; `E_OVERLOADED`
   */
  changePassword(current: unknown, password: unknown, confirmation: unknown): Promise<void> {
    return this.services.passwordChange.make(this.context, current, password, confirmation);
  }

  /**
   * What protects the current user's account, for the page `account.security`: its address and password, the devices that
   * the user is logged in on, and what features add, such as passkeys. See `events` for what has happened to it.
   *
   * @throws `E_UNAUTHENTICATED`
   */
  overview(): Promise<AccountOverview> {
    return this.services.overviewOf(this.context);
  }

  /**
   * How the current user, who has no password, can submit a form that asks for one: `"proof"`, if the user has another
   * proof, which {@link changePassword} and {@link requestEmailChange} accept instead; `"mail"`, if the form of the
   * route `change_password.store` mails the user a link that sets a first password; `"none"`, if the account has no
   * address, or `ACCOUNTS.firstPasswordByMail` is off.
   *
   * @returns `null` if the user has a password
   * @throws `E_UNAUTHENTICATED`
   */
  firstPassword(): Promise<"proof" | "mail" | "none" | null> {
    return this.services.passwordReset.firstPassword(this.context);
  }

  /**
   * Creates an account without a password, for an address that the caller has just proved to own: with an account at
   * another site that has verified it, or with a link in a mail. The address counts as verified. It doesn't log anyone
   * in.
   *
   * ```ts
   * declare const identities: { add(user: User, subject: string): Promise<void> }; // yours
   *
   * async function register({ accounts, auth }: HttpContext, identity: { subject: string; email: string; name: string }) {
   *   const { subject, ...attributes } = identity; // from the other site
   *   const user = await accounts.create({ ...attributes, provedBy: "example" }, (newcomer) => identities.add(newcomer, subject));
   *   return user === null ? null : auth.enter(user, { by: "example" });
   * }
   * ```
   *
   * Addresses are reserved, and other columns are set, as by {@link register}. With `ACCOUNTS.preventEnumeration`, an
   * account that was registered with this address but never verified, so that no one could log in to it, is deleted
   * first, with everything that is stored about it.
   *
   * Security: make sure that the caller owns the address; otherwise, anyone could create an account for someone else's
   * address. Check that the other site has verified it (`email_verified`).
   *
   * @param belonging runs in the same transaction: store the user's credential there
   * @returns the user; `null` if another account has the address: don't link the two before that account's user has
   * logged in
   * @throws `E_INVALID_INPUT`; `E_INVALID_CONFIGURATION` if no proof has the name in `provedBy`
   */
  create(attributes: ProvedAttributes, belonging?: RegistrationWork): Promise<RegisteredUser | null> {
    const user = this.services.registration.create(this.context, attributes, belonging);
    return user as Promise<RegisteredUser | null>;
  }

  /**
   * The API tokens that are still accepted after all other access has ended, for example because of a new password.
   * With `authenticates` off in `config/api.ts`, requests don't look tokens up, so all tokens are accepted until they
   * expire. A page that lists the effects of a new password has to mention these tokens too.
   *
   * @returns `null` if there aren't any: the application has no API, or it looks tokens up
   */
  remainingTokens(): RemainingTokens | null {
    const { remainingTokens, users } = this.services;
    const model = users.modelOf(this.context.auth.guardName);
    return model === null ? null : remainingTokens.of(model);
  }

  /**
   * Follows a verification link, for users and guests: marks the address as verified, or replaces the address with the
   * new one. For a HEAD request it returns what a GET would, and changes nothing.
   *
   * Security: a GET only has an effect if the link's own user is logged in with the link's guard. For anyone else, such
   * as a mail scanner that follows every link, it returns `confirm`. Show a page then, with a form that posts to the
   * route `email.verify.store`, which calls this again.
   *
   * A new address ends all access to the account, except the login of this request if it is the user's own: all other
   * logins, the API token if tokens are checked in the database, and every link mailed before. A link that undoes the
   * change for 72 hours is mailed to the old address.
   *
   * @param token the parameter of the route `email.verify`
   * @returns `confirm` if nothing has changed because the visitor has to confirm first; `already` if the link has been
   *   followed before; `invalid` if the token is not valid, has expired or was made invalid since, or if the address no
   *   longer belongs to the account or now belongs to another one
   * @throws for a new address only: `E_INVALID_CONFIGURATION` without `MailProvider`, `E_UNKNOWN_ROUTE` without the route
   *   `email.undo`
   */
  verifyEmail(token: unknown): Promise<VerificationOutcome> {
    return this.services.emailVerification.complete(this.context, token);
  }

  /**
   * Returns the purpose of a verification link, for the confirmation page and for the message afterwards. It doesn't
   * look anything up: {@link verifyEmail} finds out whether the link still works.
   *
   * @param token the parameter of the route `email.verify`
   * @returns `null` if the token is not valid or has expired
   */
  readVerification(token: unknown): VerificationLink | null {
    return this.services.emailVerification.read(this.context, token);
  }

  /**
   * Mails a verification link to a user.
   *
   * @param user the user, who may have just registered and doesn't have to be logged in; default: the current user. If
   *   the user's registration arrived twice, the link was mailed the first time, so no other one is mailed.
   * @returns `false` if there is nothing to verify: the address is verified or missing, or the user's class can't
   * verify addresses (`MustVerifyEmail`)
   * @throws `E_UNAUTHENTICATED` without a user; `E_INVALID_CONFIGURATION` without `MailProvider`; `E_UNKNOWN_ROUTE`
   *   without the route `email.verify`
   */
  sendVerification(user?: RegisteredUser): Promise<boolean> {
    this.context.auth.registry.unlimitedRoutes?.check(this.context, "throttle:email.resend,user");
    return this.services.emailVerification.send(this.context, user);
  }

  /**
   * Mails a link to a new address of the current user, which works for `ACCOUNTS.emailChangeExpiresInMinutes` minutes.
   * The account keeps the old address until the link is followed. A notice is mailed to it now, and another one when
   * the address changes. Problems are reported under `email` and `password`. If the address is taken, its owner is
   * notified by mail; with `ACCOUNTS.preventEnumeration`, the caller doesn't learn that. Login steps apply, as in
   * {@link changePassword}.
   *
   * @throws `E_UNAUTHENTICATED`; `E_INVALID_INPUT`; `E_LOGIN_PENDING`; `E_UNKNOWN_ROUTE` without the route `email.undo`; and as
   *   {@link sendVerification}
   */
  requestEmailChange(email: unknown, password: unknown): Promise<void> {
    this.context.auth.registry.unlimitedRoutes?.check(this.context, "throttle:email.resend,user");
    return this.services.emailChange.request(this.context, email, password);
  }

  /**
   * Returns the change that the link in the mail to an old address can undo, for the confirmation page. Changes
   * nothing.
   *
   * @param token the parameter of the route `email.undo`
   * @returns `null` if the token is not valid, has expired or was used
   */
  findEmailChange(token: unknown): Promise<UndoableEmailChange | null> {
    return this.services.emailUndo.find(this.context, token);
  }

  /**
   * Undoes a change of address, once: the account gets its old address back, and all access to it ends. Its password
   * becomes invalid too, because the person who changed the address knew it. The returned token sets a new one.
   *
   * A notice is mailed to the address that is replaced. Later changes can no longer be undone, so a thief who changed the
   * address twice has no working link.
   *
   * Security: only call it for a POST. Some mail programs follow every link.
   *
   * @param token the parameter of the route `email.undo`
   * @returns `taken` if the old address now belongs to another account, and nothing has changed; `invalid` if the token is
   *   not valid, has expired or was used
   * @throws `E_INVALID_CONFIGURATION` without `MailProvider`
   */
  undoEmailChange(token: unknown): Promise<EmailChangeUndo> {
    return this.services.emailUndo.complete(this.context, token);
  }
}
