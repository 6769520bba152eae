import type { HttpContext } from "../../http/index.ts";
import type { RegisteredUser } from "../../support/index.ts";
import type { AccountServices } from "./account-services.ts";
import type { EmailChangeUndo, UndoableEmailChange } from "./email-undo.ts";
import type { UsablePasswordReset } from "./password-reset.ts";
import type { RegistrationAttributes } from "./registration.ts";
import type { RemainingTokens } from "./remaining-tokens.ts";
import type { VerificationLink, VerificationOutcome } from "./verification-outcome.ts";

declare module "../../http/context.ts" {
  interface FrameworkContext {
    /** What can be done with accounts: to register, to verify an address, to set a new password. */
    readonly accounts: Accounts;
  }
}

/**
 * The life of an account, from registration to a forgotten password: `context.accounts`.
 *
 * It works on the users of the guard in force, except where a link says whose user it is about. Inputs may come as they
 * are, of any type: what should be text and is not is an `E_INVALID_INPUT`. Mails are queued, never waited for.
 */
export class Accounts {
  readonly #context: HttpContext;
  readonly #services: AccountServices;

  constructor(context: HttpContext, services: AccountServices) {
    this.#context = context;
    this.#services = services;
  }

  /**
   * Makes an account. It doesn't log anyone in, and sends no mail, except to the owner of an address that is taken: that
   * someone tried to register with it.
   *
   * With `ACCOUNTS.preventEnumeration` it does the same for addresses that are free and that are taken: the account is
   * made after the answer, and a mail with a link that verifies the address follows; or a mail to the owner of the address
   * that is taken. Answer alike. Values for unique columns other than `email` are then yours to check beforehand.
   *
   * ```ts
   * const { name, email, password, password_confirmation } = request.all();
   * const user = await accounts.register({ name, email, password, password_confirmation });
   * if (user !== null) await auth.loginAs(user);
   * ```
   *
   * Security: other columns are set as `fill` sets them. Name the inputs that may be set, or the model's `fillable`. The
   * primary key, the times, and what a mixin guards (password, API token, verification) are never among them.
   *
   * @param attributes `email`, `password`, `password_confirmation`, and values for other columns; a `name` is text in one
   * line
   * @returns the user; with `ACCOUNTS.preventEnumeration` always `null`
   * @throws `E_INVALID_INPUT` with everything that is wrong, by field, and that the address is taken only if nothing else
   * is wrong; `E_OVERLOADED`
   */
  register(attributes: RegistrationAttributes): Promise<RegisteredUser | null> {
    return this.#services.registration.register(this.#context, attributes) as Promise<RegisteredUser | null>;
  }

  /**
   * Mails a link that sets a new password to whoever has an account with this address; links mailed before are void then.
   * On the account itself nothing changes.
   *
   * Whether there is an account shows neither in what it does nor in how long that takes, since the account is looked
   * up, and the mail made and sent, after the answer: answer alike. If that fails, it is logged.
   *
   * @throws `E_INVALID_INPUT` where it is no address;
   * `E_INVALID_CONFIGURATION` without `MailProvider`; `E_UNKNOWN_ROUTE` without the route `password_reset`
   */
  requestPasswordReset(email: unknown): Promise<void> {
    return this.#services.passwordReset.request(this.#context, email);
  }

  /**
   * Tells whether the token of a link can still set a new password: for the page with the form, so that it says at once if
   * the link is dead. It changes nothing. The address is for a field that tells password managers whose password it is.
   *
   * Security: limit the route, as `Auth.routes` does.
   *
   * @param token the input `token` of the route `password_reset`
   * @returns `null` if {@link resetPassword} would return `null` for it
   */
  findPasswordReset(token: unknown): Promise<UsablePasswordReset | null> {
    return this.#services.passwordReset.find(this.#context, token);
  }

  /**
   * Sets a new password by the token of a link, once. It ends all logins of the user and revokes the API token, and a
   * notice is mailed. It doesn't log the user in.
   *
   * Security: with `authenticates` off, API tokens are accepted until they expire: see {@link remainingTokens}.
   *
   * @returns the user, or `null` if the token is not one, was used, was replaced by a newer one, has expired, or was
   * voided by what has ended access to the account since: a new password or address, or a logout everywhere
   * @throws `E_INVALID_INPUT` where the password is refused; the link can be used again then; `E_OVERLOADED`
   */
  resetPassword(token: unknown, password: unknown, confirmation: unknown): Promise<RegisteredUser | null> {
    const user = this.#services.passwordReset.complete(this.#context, token, password, confirmation);
    return user as Promise<RegisteredUser | null>;
  }

  /**
   * Gives the user who is logged in a new password. It ends all other logins, revokes the API token, and a notice is
   * mailed. Problems stand under `current_password`, `password` and `password_confirmation`.
   *
   * Security: with `authenticates` off, API tokens are accepted until they expire: see {@link remainingTokens}.
   *
   * @throws `E_UNAUTHENTICATED`; `E_INVALID_INPUT`; `E_OVERLOADED`
   */
  changePassword(current: unknown, password: unknown, confirmation: unknown): Promise<void> {
    return this.#services.passwordChange.make(this.#context, current, password, confirmation);
  }

  /**
   * The API tokens that outlive the end of all other access, by a new password for example: with `authenticates` off in `config/api.ts` no request looks a token
   * up, and all of them are accepted until they expire. A page that says what a new password ends says this too.
   *
   * @returns `null` when none remain: the application has no API, or looks tokens up
   */
  remainingTokens(): RemainingTokens | null {
    const { tokenRemains, users } = this.#services;
    return tokenRemains.of(users.of(this.#context.auth.guardName));
  }

  /**
   * Follows a verification link, logged in or not: notes that the address is verified, or replaces the address with the
   * new one. In a request by HEAD it says what GET would, and changes nothing.
   *
   * Security: a GET has an effect only for the user the link is about, logged in by the link's guard. For anyone else,
   * such as a mail scanner that follows every link, it gives `confirm`: show a page with a form that posts to the route
   * `email.verify.store`, which calls this again.
   *
   * A new address ends all access to the account, except for the login of this request if that is the user's: all other
   * logins, the API token where that is checked in the database, and every link mailed before. The old address is
   * mailed a link that undoes the change for 72 hours.
   *
   * @param token the parameter of the route `email.verify`
   * @returns `confirm` if nothing has changed, because a page has to ask first; `already` if that was done before;
   * `invalid` if the token is not one, has expired or was voided since, or
   * the address is not the account's any more, or has become another account's
   * @throws `E_INVALID_CONFIGURATION` without `MailProvider`, `E_UNKNOWN_ROUTE` without the route `email.undo`, both for a
   * new address only
   */
  verifyEmail(token: unknown): Promise<VerificationOutcome> {
    return this.#services.emailVerification.complete(this.#context, token);
  }

  /**
   * Says what a verification link is about, for the page that asks and for what is told afterwards. It looks nothing up:
   * whether the link still has an effect, {@link verifyEmail} says.
   *
   * @param token the parameter of the route `email.verify`
   * @returns `null` if the token is not one, or has expired
   */
  readVerification(token: unknown): VerificationLink | null {
    return this.#services.emailVerification.read(this.#context, token);
  }

  /**
   * Mails the user who is logged in a verification link.
   *
   * @returns `false` where there is nothing to verify: the address is verified, or the model lacks `MustVerifyEmail`
   * @throws `E_UNAUTHENTICATED`; `E_INVALID_CONFIGURATION` without
   * `MailProvider`; `E_UNKNOWN_ROUTE` without the route `email.verify`
   */
  sendVerification(): Promise<boolean> {
    return this.#services.emailVerification.send(this.#context);
  }

  /**
   * Mails a link to a new address of the user who is logged in, good for `ACCOUNTS.emailChangeExpiresMinutes` minutes. The old
   * address stays the account's until the link is followed, and gets a notice now and another one then. Problems stand
   * under `email` and `password`. The owner of an address that is taken is mailed; with `ACCOUNTS.preventEnumeration` the
   * caller is not told that it is.
   *
   * @throws `E_UNAUTHENTICATED`; `E_INVALID_INPUT`; `E_UNKNOWN_ROUTE` without the route `email.undo`; and as
   * {@link sendVerification}
   */
  requestEmailChange(email: unknown, password: unknown): Promise<void> {
    return this.#services.emailChange.request(this.#context, email, password);
  }

  /**
   * What the link that an old address was mailed can undo: for the page that asks before anything is done. It changes
   * nothing.
   *
   * @param token the parameter of the route `email.undo`
   * @returns `null` if the token is not one, has expired, or was used
   */
  findEmailChange(token: unknown): Promise<UndoableEmailChange | null> {
    return this.#services.emailUndo.find(this.#context, token);
  }

  /**
   * Undoes a change of address, once: the old address is the account's again, and all access to the account ends. Its
   * password is void as well, since the one who changed the address knew it; the token that is returned sets a new one.
   *
   * The address that is replaced is mailed a notice. Changes made after that one cannot be undone any more, so that a thief who changed the address twice has no link left.
   *
   * Security: call it for a POST only. Some mail programs follow every link to see where it leads.
   *
   * @param token the parameter of the route `email.undo`
   * @returns `taken` if the old address belongs to another account by now, and nothing has changed; `invalid` if the token
   * is not one, has expired, or was used
   * @throws `E_INVALID_CONFIGURATION` without `MailProvider`
   */
  undoEmailChange(token: unknown): Promise<EmailChangeUndo> {
    return this.#services.emailUndo.complete(this.#context, token);
  }

  /**
   * Ends all access to the account of a user of the active guard, whether or not the user is logged in: every login on every
   * device, every link in a mail, and the API token if that is checked in the database. Call it when you block an account.
   *
   * Security: the user must not come from an input. A page on which users log themselves out everywhere calls
   * `auth.logins().endAll()`.
   *
   * @returns whether the account was there
   * @throws `E_INVALID_MODEL` if the user is of another class than the guard's users, or these can only log in
   */
  async endAccess(user: RegisteredUser): Promise<boolean> {
    const { access, users } = this.#services;
    const guard = this.#context.auth.guardName;
    return access.endAll(guard, users.requireOwn(guard, user));
  }

  /**
   * Deletes a user of the active guard with everything that the framework keeps of the user: logins with their IP addresses,
   * links that set a password, addresses that the user had before. For a model it is what `user.delete()` does.
   *
   * Security: the user must not come from an input. Have the user confirm the password first: `password.confirm`.
   *
   * @returns whether the account was there
   * @throws `E_INVALID_MODEL` as {@link endAccess}
   */
  async delete(user: RegisteredUser): Promise<boolean> {
    const { deletion, users } = this.#services;
    const guard = this.#context.auth.guardName;
    return deletion.ofGuard(guard, users.requireOwn(guard, user));
  }
}
