import { type Application, Provider } from "../boot/index.ts";
import type { HttpContext } from "../http/index.ts";
import type {} from "../session/index.ts";
import type {} from "../throttle/index.ts";
import type {} from "../views/index.ts";
import { deleteUser } from "./accounts/delete-user.ts";
import { installAccounts, startAccounts } from "./accounts/install-accounts.ts";
import { requireVerification } from "./accounts/prevent-enumeration.ts";
import { pruneAccounts } from "./accounts/prune-accounts.ts";
import { answerExpiredForm } from "./answer-expired-form.ts";
import { Auth } from "./auth.ts";
import { AUTH_EXPORTS, authConfiguration } from "./configuration.ts";
import { CountedAccounts } from "./counted-accounts.ts";
import { DailyPrune } from "./daily-prune.ts";
import { GuardRegistry } from "./guard-registry.ts";
import { refuseHasherForTests } from "./password-settings.ts";
import { TaskClaim } from "./task-claim.ts";
import { deleteUsersBy } from "./user-records.ts";
import { WebSessions } from "./web/web-sessions.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** The application's guards. */
    auth: GuardRegistry;
  }
}

/**
 * Gives an application its guards and each request its `auth`, unless it has them.
 *
 * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL` where `config/auth.ts` cannot work
 */
export function installAuth(application: Application): void {
  const { config, container } = application;
  if (container.has("auth")) return;
  const guards = new GuardRegistry(
    authConfiguration(config.has("auth") ? config.section("auth", AUTH_EXPORTS) : {}),
    () => {
      return application.router;
    },
  );
  refuseHasherForTests(guards.hasher, application.environment);
  container.bind("auth", guards);
  application.contextProperty("auth", (context) => {
    const events = container.has("events") ? container.make("events") : null;
    return new Auth(context, guards, events, container.has("throttle") ? container.make("throttle") : null);
  });
}

/**
 * Brings guards into the application: `context.auth`, `request.user()`, the middleware that know a request's user, and
 * the driver `web`, which keeps logins in the table `sessions`, and `context.accounts`. In `PROVIDERS` it stands after
 * `DatabaseProvider`.
 */
export class AuthProvider extends Provider {
  readonly #sessions: WebSessions = new WebSessions(this.application);
  #dailyPrune: DailyPrune | null = null;

  override register(): void {
    installAuth(this.application);
    this.application.container.make("auth").registerDriver("web", (settings) => this.#sessions.driver(settings));
    installAccounts(this.application);
  }

  override boot(): void {
    startAccounts(this.application);
    this.#countByAccounts();
    const { container } = this.application;
    if (!container.has("database")) return;
    const accounts = container.make("accounts");
    deleteUsersBy(container.make("database"), (user, deleteRow) => deleteUser(accounts, user, deleteRow));
  }

  override ready(): void {
    const { container } = this.application;
    const guards = container.make("auth");
    guards.prepare();
    guards.pages.check();
    requireVerification(container.make("accounts"));
    if (container.has("session") && guards.names.length > 0) {
      container.make("session").answerExpired = (context) => answerExpiredForm(context, guards);
    }
    // Templates link to the pages of the active guard: auth.route("login").
    const hasPages = container.has("views") && guards.names.length > 0;
    if (hasPages) container.make("views").shareByRequest("auth", (context) => context.auth);
  }

  /** Has a server prune once a day; tests, which decide themselves what there is, aside. */
  override listening(): void {
    const { application } = this;
    const { container, environment, logger } = application;
    const accounts = container.make("accounts");
    if (environment === "test" || !accounts.configuration.retention.prune || !accounts.hasSessions) return;
    this.#dailyPrune ??= new DailyPrune({
      claim: new TaskClaim(container.make("database"), "prune"),
      prune: (signal) => application.prune(signal),
      logger,
    });
    this.#dailyPrune.start();
  }

  override async prune(signal?: AbortSignal): Promise<Readonly<Record<string, number>>> {
    const { container } = this.application;
    return container.has("database") ? pruneAccounts(container.make("accounts"), signal) : {};
  }

  override async shutdown(): Promise<void> {
    await this.#dailyPrune?.stop();
    await this.#sessions.shutdown();
  }

  #countByAccounts(): void {
    const { container } = this.application;
    if (!container.has("throttle")) return;
    const accounts = container.make("accounts");
    const parts = {
      guards: container.make("auth"),
      readResetToken: (token: string) => accounts.links.readReset(token),
      deviceOf: (context: HttpContext, account: string) => this.#sessions.deviceOf(context, account),
    };
    container.make("throttle").useAccounts(new CountedAccounts(parts));
  }
}
