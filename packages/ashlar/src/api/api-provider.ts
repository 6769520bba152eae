import {
  auditUsersOf,
  authSettingsOf,
  endAccessWithFeatures,
  installAuth,
  requireEmailColumns,
  requireHashing,
  userClassOf,
  userDataOf,
} from "../auth/index.ts";
import { type FeatureCommand, Provider } from "../boot/index.ts";
import { claimModel } from "../database/index.ts";
import type { AuditLog } from "../events/index.ts";
import type { CompiledRoute } from "../routing/index.ts";
import { ConfigurationError, isOrExtends, readPem } from "../support/index.ts";
import { type LimitName, limitsOf } from "../throttle/index.ts";
import { GrantedAbilities } from "./abilities.ts";
import { ForeignGuard } from "./foreign/foreign-guard.ts";
import { ForeignTokens } from "./foreign/foreign-tokens.ts";
import { IssuerKeys } from "./foreign/issuer-keys.ts";
import { type CompleteForeignSettings, requireHttps } from "./foreign/settings.ts";
import { JwtGuard } from "./jwt-guard.ts";
import { TOKEN_LIMITS } from "./limits.ts";
import { ManyTokenParts } from "./many/many-token-parts.ts";
import { ManyTokens } from "./many/many-tokens.ts";
import { API_MESSAGES } from "./messages.ts";
import { TOKEN_COMMANDS } from "./personal/commands/token-commands.ts";
import { PersonalTokenParts } from "./personal/personal-token-parts.ts";
import { requirePersonalTokens } from "./personal/personal-token-routes.ts";
import { PersonalTokens } from "./personal/personal-tokens.ts";
import { PresentedTokens } from "./presented-tokens.ts";
import {
  type CompleteDriverSettings,
  type CompleteJwtSettings,
  DRIVERS_PLACE,
  readAbilities,
  readApiSettings,
} from "./settings.ts";
import { SingleTokens } from "./single-tokens.ts";
import { TokenController } from "./token-controller.ts";
import { type TokenDriver, TokenDrivers } from "./token-drivers.ts";
import { TokenEvents } from "./token-events.ts";
import { deleteTokensWithAccess } from "./token-owners.ts";
import { TokenService } from "./token-service.ts";
import "./events.ts";
import "./limits.ts";
import "./messages.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** Issues, verifies and renews the tokens of the first driver that issues any. */
    api: TokenService;
    /** The drivers of API tokens. */
    apiDrivers: TokenDrivers;
  }
}

/** Adds the events about tokens to the audit log. */
function auditTokens(audit: AuditLog): void {
  audit.add("api.token_issued");
  audit.add("api.token_renewed");
  audit.add("api.token_revoked");
  audit.add("api.token_reused", ({ name }) => ({ name }));
  audit.add("api.personal_token_issued", ({ tokenId }) => ({ tokenId }));
  audit.add("api.personal_token_revoked", ({ tokenId }) => ({ tokenId }));
  audit.add("api.token_refused", ({ reason }) => ({ reason }));
}

/** Reports whether a route is one of `Api.routes()`, whatever its path and name. */
export function isTokenEndpoint({ handler }: CompiledRoute): boolean {
  return Array.isArray(handler) && isTokenController(handler[0]);
}

/** Reports whether a class is the controller of `Api.routes()`. */
export function isTokenController(controller: unknown): boolean {
  return isOrExtends(controller, TokenController);
}

/** The limit that a token endpoint counts under by itself, without middleware; `null` for other routes. */
export function tokenLimitOf(route: CompiledRoute): LimitName | null {
  if (!isTokenEndpoint(route)) return null;
  const [, method] = route.handler as readonly [unknown, keyof typeof TokenController.limits];
  return TokenController.limits[method];
}

/**
 * Adds API tokens to the application: a guard for each driver, `context.apiToken`, and what the token endpoints and
 * `JWTAuthenticationMiddleware` need. Configured by `DRIVERS` in `config/api.ts`.
 */
export class ApiProvider extends Provider {
  static override readonly commands: readonly FeatureCommand[] = TOKEN_COMMANDS;
  readonly #issuerKeys: IssuerKeys[] = [];
  readonly #manyTokens: ManyTokenParts = new ManyTokenParts(this.application);
  readonly #personalTokens: PersonalTokenParts = new PersonalTokenParts(this.application);

  override register(): void {
    this.application.messages.declare(API_MESSAGES, { de: () => import("./messages.de.ts") });
    const { container } = this.application;
    installAuth(this.application);
    limitsOf(container).add(TOKEN_LIMITS, "ApiProvider");
    for (const source of [this.#manyTokens.userData, this.#personalTokens.userData]) {
      userDataOf(container).add(source, "ApiProvider");
    }
    container.singleton("apiDrivers", () => this.#makeDrivers());
    container.singleton("api", () => container.make("apiDrivers").service());
  }

  /**
   * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL`, `E_WEAK_SECRET`, `E_JWT_KEY`, `E_JWT_ALGORITHM` if
   * `config/api.ts` cannot work
   */
  override boot(): void {
    const { container } = this.application;
    const drivers = container.make("apiDrivers");
    for (const driver of drivers) this.#addGuard(driver);
    const owners = [...this.#manyTokens.owners, ...this.#personalTokens.owners];
    deleteTokensWithAccess(container, owners);
    endAccessWithFeatures(this.application);
    this.#tellRemainingTokens([...drivers].map(({ settings }) => settings));
    auditUsersOf(this.application);
    if (container.has("audit")) auditTokens(container.make("audit"));
    this.application.contextProperty("apiTokens", (context) => new PresentedTokens(context, drivers));
    this.application.contextProperty("personalTokens", (context) => new PersonalTokens(context, drivers));
    this.application.contextProperty("apiToken", ({ apiTokens }) => apiTokens.active, { isKept: false });
  }

  /**
   * @throws `E_INVALID_CONFIGURATION` in production, if there are token endpoints but no limits; also if
   * `ACCOUNTS.preventEnumeration` is set, but nothing enforces it, or if users with a page of personal tokens can't have any;
   * `E_INVALID_MODEL` if users who log in with their address have no column for it
   */
  override async ready(): Promise<void> {
    const { container, environment, logger, router } = this.application;
    this.#requireAccounts();
    requirePersonalTokens(router.routes, container.make("auth"), container.make("apiDrivers"));
    // AuthProvider does it, too.
    if (!container.has("accounts")) await requireEmailColumns(this.application);
    await requireHashing(container.make("auth").hasher);
    if (container.has("throttle") || !router.routes.some(isTokenEndpoint)) return;
    const problem = "the token endpoints have no limits, so passwords can be guessed there indefinitely.";
    const remedy = 'Add ThrottleProvider to the list, from "ashlar/throttle".';
    const missing = new ConfigurationError("config/providers.ts: PROVIDERS", problem, remedy);
    if (environment === "production") throw missing;
    logger.warn(missing.message);
  }

  /** The keys of other issuers are fetched before the first token comes. A server starts without them if it has to. */
  override listening(): void {
    for (const keys of this.#issuerKeys) void keys.refresh();
  }

  override async prune(signal?: AbortSignal): Promise<Readonly<Record<string, number>>> {
    return { ...(await this.#manyTokens.prune(signal)), ...(await this.#personalTokens.prune(signal)) };
  }

  override async shutdown(): Promise<void> {
    for (const keys of this.#issuerKeys) keys.close();
    await this.#manyTokens.flush();
    await this.#personalTokens.flush();
  }

  /** Without accounts, nothing would keep users with an unverified address from getting a token. */
  #requireAccounts(): void {
    const { config, container } = this.application;
    if (container.has("accounts") || !authSettingsOf(config).accounts.preventEnumeration) return;
    const problem = "users log in once their address is verified, but nothing checks that for the token endpoints.";
    const remedy = 'Add AuthProvider to PROVIDERS, from "ashlar/auth".';
    throw new ConfigurationError("config/auth.ts: ACCOUNTS.preventEnumeration", problem, remedy);
  }

  #addGuard(driver: TokenDriver): void {
    const { model } = driver.settings;
    claimModel(model, this.application);
    this.application.container.make("auth").registerDriver(
      driver.name,
      ({ name }) =>
        (context) =>
          driver.settings.kind === "foreign"
            ? new ForeignGuard(name, context, driver)
            : new JwtGuard(name, context, driver),
      model,
    );
  }

  #makeDrivers(): TokenDrivers {
    const { DRIVERS, ABILITIES } = this.application.config.optionalSection("api", ["DRIVERS", "ABILITIES"]);
    const listed = readAbilities(ABILITIES);
    const drivers = readApiSettings(DRIVERS).map((settings) => this.#makeDriver(settings, listed));
    return new TokenDrivers(drivers, new GrantedAbilities(listed));
  }

  #makeDriver(settings: CompleteDriverSettings, listed: readonly string[] | null): TokenDriver {
    const { container } = this.application;
    const { name } = settings;
    const events = new TokenEvents(
      name,
      container.has("events") ? container.make("events") : null,
      container.make("logger"),
    );
    if (settings.kind === "foreign") {
      const verifiers = [this.#acceptIssuer(settings)];
      return Object.freeze({ name, settings, events, service: null, personal: null, verifiers });
    }
    this.#warnOfEndlessTokens(settings);
    const abilities = new GrantedAbilities(listed, settings.abilitiesOf);
    const { tokens } = settings;
    const service = new TokenService(settings, events, (jwts) => {
      return tokens.kind === "single"
        ? new SingleTokens(jwts, abilities)
        : new ManyTokens(jwts, tokens, { ...this.#manyTokens.of(settings, events), abilities });
    });
    const requireUserClass = (userClass: object) => service.requireUserClass(userClass);
    const personal = this.#personalTokens.of(settings, events, abilities, requireUserClass);
    const verifiers = personal === null ? [service] : [personal, service];
    return Object.freeze({ name, settings, events, service, personal, verifiers });
  }

  #acceptIssuer(settings: CompleteForeignSettings): ForeignTokens {
    const { environment, root, container } = this.application;
    const where = `${DRIVERS_PLACE}.${settings.name}`;
    if (environment === "production") requireHttps(settings, where);
    const ca = settings.ca === null ? null : readPem(settings.ca, "certificate", { root, where: `${where}.ca` });
    const keys = new IssuerKeys({ ...settings, ca, where }, container.make("logger"));
    this.#issuerKeys.push(keys);
    return new ForeignTokens(settings, keys);
  }

  /** Pages and mails about ended access must be correct about API tokens too, which only this provider knows about. */
  #tellRemainingTokens(all: readonly CompleteDriverSettings[]): void {
    const { container } = this.application;
    const remaining = all.filter((one): one is CompleteJwtSettings => one.kind === "issuing" && !one.authenticates);
    if (remaining.length === 0 || !container.has("accounts")) return;
    container.make("accounts").remainingTokens.use((users) => {
      const lifetimes = remaining.flatMap(({ model, expiresInMinutes }) => {
        return bearsTokensOf(users, model) ? [expiresInMinutes ?? Number.POSITIVE_INFINITY] : [];
      });
      if (lifetimes.length === 0) return null;
      const longest = Math.max(...lifetimes);
      return { expiresInMinutes: Number.isFinite(longest) ? longest : null };
    });
  }

  #warnOfEndlessTokens({ name, expiresInMinutes, authenticates }: CompleteJwtSettings): void {
    if (this.application.environment !== "production" || expiresInMinutes !== null || authenticates) return;
    this.application.logger.warn(
      `API tokens never expire and cannot be revoked. Set DRIVERS.${name}.expires to a number of minutes in ` +
        "config/api.ts, or authenticates to true.",
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
