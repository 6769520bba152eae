import { authSettingsOf, installAuth, userClassOf } from "../auth/index.ts";
import { Provider } from "../boot/index.ts";
import { claimModel } from "../database/index.ts";
import type { CompiledRoute } from "../routing/index.ts";
import { ConfigurationError } from "../support/index.ts";
import { limitsOf } from "../throttle/index.ts";
import { JwtGuard } from "./jwt-guard.ts";
import { TOKEN_LIMITS } from "./limits.ts";
import { API_MESSAGES } from "./messages.ts";
import { PresentedToken } from "./presented-token.ts";
import { type CompleteJwtSettings, readApiSettings } from "./settings.ts";
import { TokenController } from "./token-controller.ts";
import { JWT_GUARD, TokenService } from "./token-service.ts";
import "./events.ts";
import "./limits.ts";
import "./messages.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** Issues, verifies and renews API tokens. */
    api: TokenService;
  }
}

/** Reports whether a route is one of `Api.routes()`, whatever its path and name. */
export function isTokenEndpoint({ handler }: CompiledRoute): boolean {
  return Array.isArray(handler) && handler[0] === TokenController;
}

/**
 * Adds API tokens to the application: the guard `jwt`, `context.apiToken`, and what the token endpoints and
 * `JWTAuthenticationMiddleware` need. Configured by `DRIVERS.jwt` in `config/api.ts`.
 */
export class ApiProvider extends Provider {
  override register(): void {
    this.application.messages.declare(API_MESSAGES, { de: () => import("./messages.de.ts") });
    const { container } = this.application;
    installAuth(this.application);
    limitsOf(container).add(TOKEN_LIMITS, "ApiProvider");
    container.singleton("api", () => this.#makeService());
  }

  /**
   * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL`, `E_WEAK_SECRET`, `E_JWT_KEY`, `E_JWT_ALGORITHM` if
   * `config/api.ts` cannot work
   */
  override boot(): void {
    const { container } = this.application;
    const service = container.make("api");
    const { model } = service.settings;
    claimModel(model, this.application);
    container.make("auth").registerDriver(
      JWT_GUARD,
      ({ name }) =>
        (context) =>
          new JwtGuard(name, context, model),
      model,
    );
    this.#tellRemainingTokens(service.settings);
    this.application.contextProperty("apiToken", (context) => new PresentedToken(context, service));
  }

  /**
   * @throws `E_INVALID_CONFIGURATION` in production, if there are token endpoints but no limits; also if
   * `ACCOUNTS.preventEnumeration` is set, but nothing enforces it
   */
  override ready(): void {
    const { container, environment, logger, router } = this.application;
    this.#requireAccounts();
    if (container.has("throttle") || !router.routes.some(isTokenEndpoint)) return;
    const problem = "the token endpoints have no limits, so passwords can be guessed there indefinitely.";
    const remedy = 'Add ThrottleProvider to the list, from "ashlar/throttle".';
    const missing = new ConfigurationError("config/providers.ts: PROVIDERS", problem, remedy);
    if (environment === "production") throw missing;
    logger.warn(missing.message);
  }

  /** Without accounts, nothing would keep users with an unverified address from getting a token. */
  #requireAccounts(): void {
    const { config, container } = this.application;
    if (container.has("accounts") || !authSettingsOf(config).accounts.preventEnumeration) return;
    const problem = "users log in once their address is verified, but nothing checks that for the token endpoints.";
    const remedy = 'Add AuthProvider to PROVIDERS, from "ashlar/auth".';
    throw new ConfigurationError("config/auth.ts: ACCOUNTS.preventEnumeration", problem, remedy);
  }

  #makeService(): TokenService {
    const { config, container } = this.application;
    const settings = readApiSettings(config.optionalSection("api", ["DRIVERS"]).DRIVERS);
    this.#warnOfEndlessTokens(settings);
    const events = container.has("events") ? container.make("events") : null;
    return new TokenService(settings, events, container.make("logger"));
  }

  /** Pages and mails about ended access must be correct about API tokens too, which only this provider knows about. */
  #tellRemainingTokens({ model, authenticates, expiresInMinutes }: CompleteJwtSettings): void {
    const { container } = this.application;
    if (authenticates || !container.has("accounts")) return;
    const remaining = Object.freeze({ expiresInMinutes });
    container.make("accounts").remainingTokens.use((users) => (bearsTokensOf(users, model) ? remaining : null));
  }

  #warnOfEndlessTokens({ expiresInMinutes, authenticates }: CompleteJwtSettings): void {
    if (this.application.environment !== "production" || expiresInMinutes !== null || authenticates) return;
    this.application.logger.warn(
      "API tokens never expire and cannot be revoked. Set DRIVERS.jwt.expires to a number of minutes in config/api.ts, " +
        "or authenticates to true.",
    );
  }
}

/**
 * Reports whether the users of a class are those that the API knows: a token's `sub` is the key of a row, of any class.
 */
function bearsTokensOf(users: object, model: object): boolean {
  const { table } = users as { readonly table?: unknown };
  return (
    userClassOf(users) === userClassOf(model) ||
    (table !== undefined && table === (model as { readonly table?: unknown }).table)
  );
}
