import { ConfigurationError } from "../../../support/index.ts";
import { isModel, isVerifiable, type UserClass, userClassOf } from "../../users/authenticatable.ts";
import { FINISH_PAGE } from "../addresses/unfinished-registrations.ts";
import type { AccountPages } from "../links/account-pages.ts";
import type { AccountMails } from "../mails/account-mails.ts";
import type { GuardUsers } from "../users/guard-users.ts";

const WHERE = "config/auth.ts: ACCOUNTS.preventEnumeration";

/** The dependencies of {@link EnumerationPrevention}. */
export interface EnumerationPreventionDependencies {
  /** `ACCOUNTS.preventEnumeration`. */
  readonly isOn: boolean;
  readonly users: GuardUsers;
  readonly pages: AccountPages;
  readonly mails: AccountMails;
}

/**
 * Makes sure that responses can be identical: the mail contains what they leave out, and no user can log in before it
 * arrives.
 */
export class EnumerationPrevention {
  readonly #dependencies: EnumerationPreventionDependencies;

  constructor(dependencies: EnumerationPreventionDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws `E_INVALID_CONFIGURATION` if it is on, but the application cannot support it */
  check(): void {
    const { isOn, users, pages, mails } = this.#dependencies;
    if (!isOn) return;
    if (!mails.areSent) {
      const remedy = 'Add it to PROVIDERS: import { MailProvider } from "ashlar/mail".';
      throw new ConfigurationError(WHERE, "users learn everything by mail, but MailProvider is missing.", remedy);
    }
    for (const guard of users.guards) {
      if (pages.has(guard, "register")) this.requireVerifiable(guard);
    }
  }

  /**
   * @throws `E_INVALID_CONFIGURATION` if users of a guard cannot verify their address, or cannot choose a password
   * afterwards
   */
  requireVerifiable(guard: string): void {
    const { users, pages } = this.#dependencies;
    const store = users.of(guard);
    if (!isVerifiable((userClassOf(store) as UserClass).prototype)) {
      const problem = `users of the guard "${guard}" register, but their address is never verified.`;
      const remedy = isModel(userClassOf(store))
        ? `Add the mixin: class ${store.name} extends compose(Model, Authenticates, MustVerifyEmail).`
        : `Give the class of the users of ${store.name} the method hasVerifiedEmail().`;
      throw new ConfigurationError(WHERE, problem, remedy);
    }
    if (pages.has(guard, FINISH_PAGE)) return;
    const problem = `users of the guard "${guard}" register, but there is no page where they choose a password by mail.`;
    const remedy = `Add the route "${pages.nameOf(guard, FINISH_PAGE)}", which Auth.routes() includes.`;
    throw new ConfigurationError(WHERE, problem, remedy);
  }
}
