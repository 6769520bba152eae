import type { Application } from "../../../boot/index.ts";
import type { Container } from "../../../kernel/index.ts";
import { AshlarError, ConfigurationError, unknownSetting } from "../../../support/index.ts";
import type { AccountMailables, AccountMailName, QueuedMailData } from "./account-mailables.ts";
import { isMailableClass, MAILABLE } from "./settings.ts";
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
  readonly #names = new Set<string>();

  /**
   * Adds mails.
   *
   * @param provider the provider of the feature that declares them
   * @throws `E_INVALID_CONFIGURATION` if a value is not the class of a mail
   */
  add(mailables: AccountMailables, provider: string): void {
    for (const [name, mailable] of Object.entries(mailables)) {
      this.#names.add(name);
      if (mailable === null) continue;
      if (!isMailableClass(mailable)) {
        const remedy = `Write ${name}: OwnMail, with a class that extends Mailable.`;
        throw new ConfigurationError(provider, `the mail "${name}" has no class.`, remedy);
      }
      this.#mailables[name] = mailable;
    }
  }

  /**
   * Checks `ACCOUNTS.mailables`, by the names that features have declared.
   *
   * @throws `E_INVALID_CONFIGURATION` if no feature has a mail with such a name, suggesting similar names; if a value
   * is not a class
   */
  check(own: AccountMailables): void {
    const unknown = Object.keys(own).find((name) => !this.#names.has(name));
    if (unknown !== undefined) throw unknownSetting(`${WHERE}.${unknown}`, unknown, [...this.#names]);
    for (const [name, mailable] of Object.entries(own)) MAILABLE.read(mailable, `${WHERE}.${name}`);
  }

  /** The class of a mail that a feature declares; `undefined` if no feature does. */
  get<Name extends AccountMailName>(name: Name): AccountMailables[Name] {
    return (this.#mailables as AccountMailables)[name];
  }
}

/** The mails about accounts that an application's features declare. */
export function createAccountMailRegistry(application: Application): AccountMailRegistry {
  const registry = new AccountMailRegistry();
  for (const { feature, provider } of application.features) {
    if (feature.accountMails !== undefined) registry.add(feature.accountMails, provider);
  }
  return registry;
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
