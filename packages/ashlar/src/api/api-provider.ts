import { Auth } from "../auth/index.ts";
import { type Feature, Provider } from "../boot/index.ts";
import { ConfigurationError } from "../support/index.ts";
import type { Driver } from "./drivers/drivers.ts";
import { DriverResources, makeDrivers } from "./drivers/make-drivers.ts";
import { isTokenEndpoint, requirePersonalTokens } from "./endpoints/api.ts";
import { API } from "./feature.ts";
import { ForeignGuard } from "./requests/foreign-guard.ts";
import { JwtGuard } from "./requests/jwt-guard.ts";
import type { CompleteJwtSettings } from "./settings/driver-settings.ts";
import "./events.ts";
import "./limits.ts";
import "./messages.ts";

/**
 * Adds API tokens to the application: a guard for each driver, `context.apiToken`, and what the token endpoints and
 * `JWTAuthenticationMiddleware` need. Configured by `DRIVERS` in `config/api.ts`.
 */
export class ApiProvider extends Provider {
  static override readonly feature: Feature = API;
  readonly #resources: DriverResources = new DriverResources(this.application);

  override register(): void {
    const { container } = this.application;
    const registry = container.make("userData");
    for (const { userData } of this.#resources.tables) registry.add(userData, "ApiProvider");
    container.singleton("apiDrivers", () => makeDrivers(this.application, this.#resources));
  }

  /**
   * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL`, `E_WEAK_SECRET`, `E_JWT_KEY`, `E_JWT_ALGORITHM` if
   * `config/api.ts` cannot work
   */
  override boot(): void {
    const { container } = this.application;
    const drivers = container.make("apiDrivers");
    for (const driver of drivers.all) this.#addGuard(driver);
    this.#endTokensWithAccess();
    this.#reportRemainingTokens(drivers.all);
  }

  /**
   * @throws `E_INVALID_CONFIGURATION` in production, if there are token endpoints but no limits; also if
   * `ACCOUNTS.preventEnumeration` is set, but nothing enforces it, or if users with a page of personal tokens can't have any;
   * `E_INVALID_MODEL` if users who log in with their address have no column for it
   */
  override async ready(): Promise<void> {
    const { container, environment, logger, router } = this.application;
    await container.make("auth").requireUsable("the token endpoints");
    requirePersonalTokens(this.application);
    if (container.has("throttle") || !router.routes.some(isTokenEndpoint)) return;
    const problem = "the token endpoints have no limits, so passwords can be guessed there indefinitely.";
    const remedy = 'Add ThrottleProvider to the list, from "ashlar/throttle".';
    const missing = new ConfigurationError("config/providers.ts: PROVIDERS", problem, remedy);
    if (environment === "production") throw missing;
    logger.warn({ finding: "limits.provider" }, missing.message);
  }

  /** Fetches other issuers' keys before the first token arrives. The server starts even if that fails. */
  override listening(): void {
    for (const keys of this.#resources.keys) void keys.refresh();
  }

  override async prune(signal?: AbortSignal): Promise<Readonly<Record<string, number>>> {
    const { many, personal } = this.#resources;
    return { ...(await many.prune(signal)), ...(await personal.prune(signal)) };
  }

  override async shutdown(): Promise<void> {
    for (const keys of this.#resources.keys) keys.close();
    for (const table of this.#resources.tables) await table.flush();
  }

  #addGuard(driver: Driver): void {
    const { kind, model } = driver.settings;
    const Guard = kind === "foreign" ? ForeignGuard : JwtGuard;
    this.application.container.make("auth").registerDriver(driver.name, Guard.by(driver), model);
  }

  #endTokensWithAccess(): void {
    const tables = this.#resources.tables.filter(({ isUsed }) => isUsed);
    if (tables.length === 0) return;
    this.application.container.make("access").add({
      // Each row has the epoch in which it was created.
      isBoundToEpoch: true,
      async end(user) {
        for (const table of tables) await table.deleteAll(user);
      },
    });
  }

  /**
   * Pages and mails about ended access mention the API tokens that remain valid, which are known only to this provider.
   */
  #reportRemainingTokens(drivers: readonly Driver[]): void {
    const { container } = this.application;
    const remaining = drivers
      .map(({ settings }) => settings)
      .filter((one): one is CompleteJwtSettings => one.kind === "issuing" && !one.authenticates);
    if (remaining.length === 0 || !container.has("accounts")) return;
    container.make("accounts").remainingTokens.use((users) => {
      const lifetimes = remaining.flatMap(({ model, expiresInMinutes }) => {
        return Auth.keepsSameRows(users, model) ? [expiresInMinutes ?? Number.POSITIVE_INFINITY] : [];
      });
      if (lifetimes.length === 0) return null;
      const longest = Math.max(...lifetimes);
      return { expiresInMinutes: Number.isFinite(longest) ? longest : null };
    });
  }
}
