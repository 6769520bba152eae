import { type Feature, Provider } from "../boot/index.ts";
import type {} from "../session/index.ts";
import { SetupProblems } from "../support/index.ts";
import type {} from "../views/index.ts";
import { installAccounts, startAccounts } from "./accounts/install-accounts.ts";
import { CountedAccounts } from "./accounts/users/counted-accounts.ts";
import { endAccessWithFeatures } from "./create-guards.ts";
import { ACCOUNTS, AUTHENTICATION } from "./feature.ts";
import type { GuardRegistry } from "./guards/guard-registry.ts";
import { ownerNameOf } from "./guards/request-auth.ts";
import { message } from "./messages.ts";
import { requireEmailColumns } from "./models/require-email-columns.ts";
import { requireHashing } from "./passwords/password-settings.ts";
import { respondToExpiredForm, respondToPendingStep } from "./requests/respond-to-expired-form.ts";
import { authSettingsOf } from "./settings.ts";
import { deleteUsersBy } from "./users/user-data.ts";
import { WebGuards } from "./web/web-guards.ts";
import "./access/end-access.ts";
import "./accounts/events.ts";
import "./accounts/history/listed-event.ts";
import "./accounts/pages/account-sections.ts";
import "./accounts/limits.ts";
import "./accounts/mails/mail-messages.ts";
import "./requests/authenticate.ts";
import "./events.ts";
import "./limits.ts";
import "./messages.ts";
import "./pages/messages.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** The application's guards. */
    auth: GuardRegistry;
  }
}

/**
 * Adds authentication to the application: `context.auth`, `request.user()`, the middleware that identifies a request's
 * user, `context.accounts`, and the driver `web`, which keeps logins in the table `logins` or in a store of your own.
 * In `PROVIDERS`, list it after `DatabaseProvider`.
 */
export class AuthProvider extends Provider {
  static override readonly feature: Feature = ACCOUNTS;
  /**
   * Guards without accounts, a part of {@link feature}. A feature that registers a guard driver, or adds a proof, includes it, so
   * that it works without this provider: `includes: [AuthProvider.guards]`.
   */
  static readonly guards: Feature = AUTHENTICATION;
  readonly #webGuards: WebGuards = new WebGuards(this.application);

  override register(): void {
    const { container } = this.application;
    const guards = container.make("auth");
    guards.registerDriver("web", (settings) => this.#webGuards.driver(settings));
    installAccounts(this.application, authSettingsOf(this.application.config));
  }

  override boot(): void {
    startAccounts(this.application, authSettingsOf(this.application.config));
    this.#countByAccounts();
    endAccessWithFeatures(this.application);
    const { container, dailyPrune } = this.application;
    const { deletion, settings, users } = container.make("accounts");
    container.make("access").guardOf = (userClass) => users.guardsKeeping(userClass)[0] ?? null;
    if (!settings.retention.prune) dailyPrune.isOff = true;
    if (!container.has("database")) return;
    deleteUsersBy(container.make("database"), (user, deleteRow) => deletion.delete(user, deleteRow));
  }

  override async ready(): Promise<void> {
    const { container } = this.application;
    const guards = container.make("auth");
    const problems = new SetupProblems();
    problems.try(() => guards.prepare());
    problems.try(() => guards.checkPages());
    for (const { guard, other, steps } of guards.guardsWithFewerSteps) this.#warnOfSteps(guard, other, steps);
    const { enumerationPrevention, pages, users } = container.make("accounts");
    problems.try(() => users.check(pages));
    problems.try(() => enumerationPrevention.check());
    // It reads the database, so it is skipped if startup has already failed.
    if (!problems.any) await problems.run(() => requireEmailColumns(this.application));
    if (!problems.any && !this.application.isInspected) await problems.run(() => container.make("logins").prepare());
    // Logins then don't have to look for the table.
    if (!problems.any) await problems.run(() => container.make("accounts").history.prepare());
    await problems.run(() => requireHashing(guards.hasher));
    problems.end();
    if (container.has("session") && guards.names.length > 0) {
      container.make("session").respondToExpired = (context) => respondToExpiredForm(context, guards);
      container.make("session").respondToError = (context, error) => {
        return respondToPendingStep(context, error, this.application.router!);
      };
      container.make("session").ownerOf = ownerNameOf;
      container.make("session").noteOfFailure = ({ request }) => {
        const isLogout = guards.names.some((guard) => request.route()?.name === guards.pages.nameOf(guard, "logout"));
        return isLogout ? message("auth.logout.failed") : null;
      };
    }
    // Templates link to the pages of the active guard: auth.route("login").
    const hasPages = container.has("views") && guards.names.length > 0;
    if (hasPages) container.make("views").shareByRequest("auth");
  }

  override async prune(signal?: AbortSignal): Promise<Readonly<Record<string, number>>> {
    return this.application.container.make("accounts").pruning.prune(signal);
  }

  override async shutdown(): Promise<void> {
    await this.#webGuards.shutdown();
    if (this.application.container.has("database")) await this.application.container.make("accounts").history.flush();
    await this.application.container.make("logins").close();
  }

  #warnOfSteps(guard: string, other: string, steps: readonly string[]): void {
    const names = steps.map((name) => `"${name}"`).join(", ");
    const problem = `The guard "${guard}" logs in the same users as "${other}" without its login steps: ${names}.`;
    const remedy = `List them in GUARDS.steps in config/auth.ts, or in GUARDS.${guard}.steps as well.`;
    this.application.logger.warn({ guard, other, steps }, `${problem} ${remedy}`);
  }

  #countByAccounts(): void {
    const { container } = this.application;
    if (!container.has("throttle")) return;
    const { links } = container.make("accounts");
    const dependencies = {
      guards: container.make("auth"),
      readResetToken: (token: string) => links.readReset(token),
    };
    container.make("throttle").useAccounts(new CountedAccounts(dependencies));
  }
}
