import type { Container } from "../../../kernel/index.ts";
import { offerPreviews } from "../../../mail/index.ts";
import { AshlarError, ConfigurationError, SourceLocation, unknownSetting } from "../../../support/index.ts";
import type { AccountMailables, AccountMailName, QueuedMailData } from "./account-mailables.ts";
import { BUILT_IN_NAMES, isMailableClass, MAILABLE } from "./settings.ts";
import "../../errors.ts";

declare module "../../../kernel/container.ts" {
  interface FrameworkServices {
    /** The mails about accounts that features declare. */
    "accounts.mails": AccountMailRegistry;
  }
}

const WHERE = "config/auth.ts: ACCOUNTS.mailables";

/** The mails about accounts that an application's features declare, by name. */
export class AccountMailRegistry {
  readonly #mailables: Record<string, unknown> = {};
  readonly #places = new Map<string, string>(BUILT_IN_NAMES.map((name) => [name, "AuthProvider"]));
  #isComplete = false;

  /**
   * Adds mails.
   *
   * @param place where they are declared
   * @throws `E_INVALID_CONFIGURATION` if a value is not the class of a mail, if its name is taken, or if it is too late
   */
  add(mailables: AccountMailables, place: string): void {
    if (this.#isComplete) {
      const problem = "a mail about accounts is declared after ACCOUNTS.mailables has been checked.";
      throw new ConfigurationError(place, problem, "Declare it in register() of the provider.");
    }
    for (const [name, mailable] of Object.entries(mailables)) {
      const other = this.#places.get(name);
      if (other !== undefined) {
        const problem = `the mail "${name}" is already declared by ${other}.`;
        throw new ConfigurationError(place, problem, "Give one of them another name.");
      }
      if (!isMailableClass(mailable)) {
        const remedy = `Write ${name}: OwnMail, with a class that extends Mailable.`;
        throw new ConfigurationError(place, `the mail "${name}" has no class.`, remedy);
      }
      this.#mailables[name] = mailable;
      this.#places.set(name, place);
    }
  }

  /**
   * Checks `ACCOUNTS.mailables`, now that all names are known. Nothing can be added afterwards.
   *
   * @throws `E_INVALID_CONFIGURATION` if no feature has a mail with such a name, suggesting similar names; if a value
   * is not a class
   */
  complete(own: AccountMailables): void {
    this.#isComplete = true;
    const unknown = Object.keys(own).find((name) => !this.#places.has(name));
    if (unknown !== undefined) throw unknownSetting(`${WHERE}.${unknown}`, unknown, [...this.#places.keys()]);
    for (const [name, mailable] of Object.entries(own)) MAILABLE.read(mailable, `${WHERE}.${name}`);
  }

  /** The class of a mail that a feature declares; `undefined` if no feature does. */
  get<Name extends AccountMailName>(name: Name): AccountMailables[Name] {
    return (this.#mailables as AccountMailables)[name];
  }
}

/** The mails that the features of an application declare, whether it has `AuthProvider` or not. */
export function accountMailsOf(container: Container): AccountMailRegistry {
  if (!container.has("accounts.mails")) container.bind("accounts.mails", new AccountMailRegistry());
  return container.make("accounts.mails");
}

/**
 * Declares mails about accounts, each with a class that `ACCOUNTS.mailables` in `config/auth.ts` can replace by name.
 * Call it in `register()` of a provider; {@link queueAccountMail} sends one:
 *
 * ```ts
 * declare module "ashlar/auth" { interface AccountMailMap { welcome: WelcomeData } }
 *
 * export class WelcomeProvider extends Provider {
 *   override register(): void {
 *     declareAccountMails(this.application, { welcome: WelcomeMail });
 *   }
 * }
 * ```
 *
 * In development, `/dev/mailbox/preview` shows those with a static `preview()`.
 *
 * @param mailables by name; a mail is created with its data of `AccountMailMap`
 * @throws `E_INVALID_CONFIGURATION` if a name is taken, with both places, or if a value is not the class of a mail
 */
export function declareAccountMails(application: { readonly container: Container }, mailables: AccountMailables): void {
  accountMailsOf(application.container).add(mailables, String(new SourceLocation(declareAccountMails)));
  offerPreviews(application.container, Object.values(mailables));
}

/**
 * Queues a mail about an account: the application's own mail with this name, or a feature's. It is
 * written in the user's language.
 *
 * ```ts
 * await queueAccountMail(application, "passwordChanged", user.email, {
 *   user,
 *   guard: "web",
 *   email: user.email,
 *   changedAt: new Date(),
 *   wasReset: false,
 * });
 * ```
 *
 * @param to the recipient's address
 * @param data the data that the mail is created with, and `guard`, the name of the user's guard in `GUARDS`: the mail
 * links to its pages. `newPasswordUrl` and `remainingTokens` are added.
 * @throws `E_UNKNOWN_GUARD` if `data.guard` is missing or not a guard; `E_INVALID_CONFIGURATION` if the application has
 * no `MailProvider`
 */
export async function queueAccountMail<Name extends AccountMailName>(
  application: { readonly container: Container },
  name: Name,
  to: string,
  data: QueuedMailData<Name>,
): Promise<void> {
  requireGuard(application.container, name, data.guard);
  const { mails } = application.container.make("accounts");
  await mails.queue(name, to, data, await mails.prepare());
}

/** @throws `E_UNKNOWN_GUARD` */
function requireGuard(container: Container, mail: AccountMailName, guard: unknown): void {
  const guards = container.make("auth");
  if (typeof guard !== "string") {
    const problem = `queueAccountMail: the data of the mail "${mail}" lacks the name of the user's guard.`;
    throw new AshlarError("E_UNKNOWN_GUARD", `${problem} Pass it: { user, guard: "${guards.defaultName}" }.`);
  }
  guards.checkName(guard);
}
