import { type Feature, Provider } from "../boot/index.ts";
import { ConfigurationError } from "../support/index.ts";
import { REQUEST_MINUTES } from "./codes/login-codes.ts";
import { LOGIN_LINKS } from "./feature.ts";
import { USE_LIMIT } from "./limits.ts";
import { REGISTRATION_PAGE } from "./requests/request-login-links.ts";
import "./events.ts";
import "./limits.ts";
import "./login-link-service.ts";
import "./mails.ts";
import "./messages.ts";

const PROVIDERS = "config/providers.ts: PROVIDERS";

/** Adds logins by mail to the application: `context.loginLinks`. Configured by `LOGIN_LINKS` in `config/login-links.ts`. */
export class LoginLinksProvider extends Provider {
  static override readonly feature: Feature = LOGIN_LINKS;

  /** @throws `E_INVALID_CONFIGURATION` if `config/login-links.ts` cannot work, or a link could be used twice */
  override boot(): void {
    const { container } = this.application;
    if (!container.has("throttle")) {
      const problem = "limits are missing, which also make sure that each link is used once.";
      throw new ConfigurationError(PROVIDERS, problem, 'Add ThrottleProvider, from "ashlar/throttle".');
    }
    const [bucket, ...more] = container.make("loginLinks").throttle.limit(USE_LIMIT).buckets;
    const isOnce = bucket?.attempts === 1 && bucket.windowSeconds > REQUEST_MINUTES * 60 && more.length === 0;
    if (isOnce && bucket.by.join() === "account") return;
    const problem = `"${USE_LIMIT}" lets a link be used more than once.`;
    throw new ConfigurationError("config/throttle.ts: THROTTLE.limits", problem, "Remove it from config/throttle.ts.");
  }

  /** @throws `E_INVALID_CONFIGURATION` if the application sends no mails, or lacks what its accounts need for them */
  override ready(): void {
    const { container } = this.application;
    if (!container.has("mail")) {
      throw new ConfigurationError(
        PROVIDERS,
        "mails are missing, which logins need.",
        'Add MailProvider, from "ashlar/mail".',
      );
    }
    const { pages, users } = container.make("accounts");
    for (const guard of users.guards) {
      if (!pages.isOwn(guard, "login_links.code")) continue;
      this.#requireVerifiable(guard);
      if (!container.make("loginLinks").settings.registers || pages.has(guard, REGISTRATION_PAGE)) continue;
      const problem = `newcomers get a link, but no route is named "${pages.nameOf(guard, REGISTRATION_PAGE)}".`;
      const remedy = "Pass LoginLinks.routes a controller: { login, register: LoginLinkRegistrationController }.";
      throw new ConfigurationError("config/login-links.ts: LOGIN_LINKS.registers", problem, remedy);
    }
  }

  /**
   * Security: without it, it isn't known whether an address was ever proved. Someone else could have registered it, and
   * would keep the password.
   */
  #requireVerifiable(guard: string): void {
    const store = this.application.container.make("accounts").users.of(guard);
    const { userClass = store } = store;
    const { prototype } = userClass as { readonly prototype?: { readonly hasVerifiedEmail?: unknown } };
    if (typeof prototype?.hasVerifiedEmail === "function") return;
    const problem = `users of the guard "${guard}" log in by mail, but ${store.name} doesn't know whether their address is verified.`;
    const remedy = "Add the mixin MustVerifyEmail, or for another class of users, the method hasVerifiedEmail().";
    throw new ConfigurationError(`config/auth.ts: GUARDS.${guard}.model`, problem, remedy);
  }
}
