import type { Application } from "../../boot/index.ts";
import type { Database } from "../../database/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import type { Authenticatable } from "../authenticatable.ts";
import { accountName, identifierOf } from "../counted-accounts.ts";
import type { GuardFactory, GuardSettings } from "../guard-registry.ts";
import { KnownDevices } from "./known-devices.ts";
import { sessionFinder } from "./session-finder.ts";
import { SessionUses } from "./session-uses.ts";
import { sessionWriter } from "./session-writer.ts";
import { WebGuard } from "./web-guard.ts";
import { webGuardOptions } from "./web-guard-options.ts";

interface Shared {
  readonly database: Database;
  readonly uses: SessionUses;
  readonly devices: KnownDevices;
}

/** The driver `web` of one application, and what its guards have in common. */
export class WebSessions {
  readonly #application: Application;
  /** The guards that keep their token in a cookie, by its name. */
  readonly #cookies = new Map<string, string>();
  #shared: Shared | null = null;

  constructor(application: Application) {
    this.#application = application;
  }

  /**
   * Makes a guard of the configuration.
   *
   * @throws `E_INVALID_CONFIGURATION` where an option cannot work, another guard has the cookie, or there is no database
   */
  driver({ name, model, options }: GuardSettings): GuardFactory {
    const { logger } = this.#application;
    const checked = webGuardOptions(name, options, this.#isHttps);
    this.#claimCookie(name, checked.cookie);
    const shared = this.#share(name);
    const { database } = shared;
    const [finder, writer] = [sessionFinder(database, name, model), sessionWriter(database, model)];
    const guards = this.#application.container.make("auth");
    const accountOf = (user: Authenticatable): string => accountName(guards.realmOf(name), identifierOf(user, model));
    const parts = { ...shared, logger, options: checked, finder, writer, accountOf };
    return (context) => new WebGuard(name, context, model, parts);
  }

  /** What stands for the device that a request comes from, if an account was logged in to on it; see {@link KnownDevices}. */
  deviceOf(context: HttpContext, account: string): string | null {
    return this.#shared?.devices.deviceOf(context, account) ?? null;
  }

  /** Writes what is still to be written; the database must not be closed yet. */
  async shutdown(): Promise<void> {
    await this.#shared?.uses.flush();
  }

  get #isHttps(): boolean {
    return this.#application.settings.url?.startsWith("https:") ?? false;
  }

  #claimCookie(guard: string, cookie: string): void {
    const other = this.#cookies.get(cookie) ?? guard;
    if (other !== guard) {
      const problem = `its cookie "${cookie}" is that of the guard "${other}": a login by one would end that by the other.`;
      throw new ConfigurationError(`config/auth.ts: GUARDS.${guard}.cookie`, problem, "Give it one of its own.");
    }
    this.#cookies.set(cookie, guard);
  }

  #share(guard: string): Shared {
    if (this.#shared !== null) return this.#shared;
    const { container, logger, settings } = this.#application;
    if (!container.has("database")) {
      const remedy = "List DatabaseProvider in PROVIDERS, before AuthProvider.";
      throw new ConfigurationError(`config/auth.ts: GUARDS.${guard}`, "its sessions need a database.", remedy);
    }
    const database = container.make("database");
    const uses = new SessionUses(database.kysely, logger);
    const devices = new KnownDevices(settings.key, this.#isHttps, { previousSecrets: settings.previousKeys });
    this.#shared = { database, uses, devices };
    return this.#shared;
  }
}
