import type { Application } from "../../boot/index.ts";
import { type CookieSite, sharedCookieWarning } from "../../http/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import { CredentialUses } from "../credentials/credential-uses.ts";
import type { GuardFactory, GuardSettings } from "../guards/guard-table.ts";
import { KnownDevices } from "../logins/devices.ts";
import type { LoginUse } from "../logins/login-store.ts";
import { LoginSuccessors } from "../logins/login-successors.ts";
import { webGuardFactory } from "./web-guard.ts";
import { readWebGuardSettings, type WebGuardDependencies } from "./web-guard-settings.ts";

/** The driver `web` of one application, and the resources that its guards share. */
export class WebGuards {
  readonly #application: Application;
  readonly #uses: CredentialUses<LoginUse>;
  /** Created with the first guard, because an application without one doesn't need a key for it. */
  #successors: LoginSuccessors | null = null;
  /** The guards that keep their token in a cookie, by the cookie's name. */
  readonly #cookies = new Map<string, string>();

  constructor(application: Application) {
    const { container, logger } = application;
    this.#application = application;
    this.#uses = new CredentialUses<LoginUse>((use) => container.make("logins").of(use.guard).touch(use), logger);
  }

  /**
   * Creates a configured guard.
   *
   * @throws `E_INVALID_CONFIGURATION` if an option cannot work, another guard has the same cookie, or its logins need a
   * database and there isn't one
   */
  driver({ name, model, options }: GuardSettings): GuardFactory {
    const { container, logger, settings } = this.#application;
    const checked = readWebGuardSettings(name, options, this.#site);
    this.#claimCookie(name, checked.cookie);
    if (checked.domain !== null && settings.environment === "production") {
      logger.warn(sharedCookieWarning(`config/auth.ts: GUARDS.${name}.domain`, checked.domain));
    }
    const guards = container.make("auth");
    const store = container.make("logins").add(name, checked.logins);
    const sameSite = this.#sameSite;
    guards.guesses.devices ??= new KnownDevices(settings.key, this.#site, {
      previousSecrets: settings.previousKeys,
      sameSite,
    });
    const { devices } = guards.guesses;
    if (checked.domain !== null) devices.share(checked.domain);
    this.#successors ??= new LoginSuccessors(settings.key, settings.previousKeys);
    const dependencies: WebGuardDependencies = {
      logger,
      settings: checked,
      store,
      successors: this.#successors,
      uses: this.#uses,
      devices,
      sameSite,
      endAccess: (user, ending) => container.make("accounts").access.end(name, user, ending),
    };
    return webGuardFactory(name, model, dependencies);
  }

  /** Writes pending uses; the database must still be open. */
  shutdown(): Promise<void> {
    return this.#uses.flush();
  }

  get #site(): CookieSite {
    const { url, cookieSuffix } = this.#application.settings;
    return { isHttps: url?.startsWith("https:") ?? false, suffix: cookieSuffix, url };
  }

  /** If other sites' pages use the session, they use the logins too. */
  get #sameSite(): "lax" | "none" {
    const { container } = this.#application;
    return container.has("session") && container.make("session").settings.sameSite === "none" ? "none" : "lax";
  }

  #claimCookie(guard: string, cookie: string): void {
    const other = this.#cookies.get(cookie) ?? guard;
    if (other !== guard) {
      const problem = `its cookie "${cookie}" is also used by the guard "${other}": a login with one would end that of the other.`;
      throw new ConfigurationError(`config/auth.ts: GUARDS.${guard}.cookie`, problem, "Give it its own cookie.");
    }
    this.#cookies.set(cookie, guard);
  }
}
