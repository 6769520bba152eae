import { type ApplicationSettings, Provider } from "../boot/index.ts";
import type { Container } from "../kernel/index.ts";
import { Sealer } from "../security/index.ts";
import { ConfigurationError } from "../support/index.ts";
import { type SessionConfiguration, sessionConfiguration } from "./configuration.ts";
import { CookieSessionStore } from "./cookie-store.ts";
import { CsrfField } from "./csrf-field.ts";
import { CsrfTokens } from "./csrf-tokens.ts";
import { DatabaseSessionStore } from "./database-store.ts";
import { requireSession } from "./request-session.ts";
import type { Session } from "./session.ts";
import { SessionManager } from "./session-manager.ts";
import type { SessionStore } from "./session-store.ts";
import { NEUTRAL_HELPERS, VIEW_HELPERS } from "./view-helpers.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** What the sessions of all visitors have in common. One visitor's is `context.session`. */
    session: SessionManager;
  }
}

declare module "../http/context.ts" {
  interface FrameworkContext {
    /** What is remembered of this visitor between requests; opened when it is first asked for. */
    readonly session: Session;
    /** The hidden input with the CSRF token; `csrf_field` in views. */
    readonly csrfField: CsrfField;
  }
}

/**
 * Brings session data into the application: `context.session`, forms that come back filled in, and CSRF tokens. Its
 * settings are `SESSION` of `config/session.ts`; with the database driver it comes after `DatabaseProvider`.
 *
 * Who is logged in is not kept here, but by the guards.
 */
export class SessionProvider extends Provider {
  #manager: SessionManager | null = null;

  override register(): void {
    const { container, config, settings, logger } = this.application;
    const section = config.has("session") ? config.section("session", ["SESSION"]) : {};
    const configuration = sessionConfiguration(section.SESSION, settings.url);
    container.singleton("session", () => {
      const store = createStore(configuration, settings, container);
      const tokens = new CsrfTokens(settings.key, { previousSecrets: settings.previousKeys });
      return new SessionManager(configuration, store, tokens, logger);
    });
  }

  override boot(): void {
    const { container } = this.application;
    this.#manager = container.make("session");
    this.application.contextProperty("session", (context) => requireSession(context).session);
    this.application.contextProperty("csrfField", (context) => new CsrfField(context));
    if (!container.has("views")) return;
    const views = container.make("views");
    for (const [name, value] of Object.entries(NEUTRAL_HELPERS)) views.share(name, value);
    for (const [name, make] of Object.entries(VIEW_HELPERS)) views.shareByRequest(name, make);
  }

  override async prune(): Promise<Readonly<Record<string, number>>> {
    const manager = this.application.container.make("session");
    // A sealed cookie expires by itself; only a store beside the browser has something to delete.
    return manager.store.isRemote ? { "session data": await manager.prune() } : {};
  }

  override async shutdown(): Promise<void> {
    await this.#manager?.settled();
  }
}

function createStore(
  configuration: SessionConfiguration,
  settings: ApplicationSettings,
  container: Container,
): SessionStore {
  if (configuration.driver === "cookie") {
    const sealer = new Sealer(settings.key, "session", { previousSecrets: settings.previousKeys });
    return new CookieSessionStore(sealer, configuration);
  }
  if (container.has("database")) return new DatabaseSessionStore(container.make("database"));
  const problem = 'is "database", and the application has none.';
  const remedy = "Add DatabaseProvider to PROVIDERS in config/providers.ts.";
  throw new ConfigurationError("config/session.ts: SESSION.driver", problem, remedy);
}
