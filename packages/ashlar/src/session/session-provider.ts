import {
  type CompleteApplicationSettings,
  declareFeature,
  type Feature,
  Provider,
  requireOneProcess,
} from "../boot/index.ts";
import { isSameSite, sharedCookieWarning } from "../http/index.ts";
import type { Container } from "../kernel/index.ts";
import { KeyPurpose, Sealer } from "../security/index.ts";
import { CSRF_PURPOSES, CsrfTokens } from "./csrf/csrf-tokens.ts";
import { SESSION_ERRORS } from "./errors.ts";
import { CsrfField, csrfFieldOf, NEUTRAL_HELPERS, VIEW_HELPERS } from "./forms/view-helpers.ts";
import { SESSION_MESSAGES } from "./messages.ts";
import { openedSession } from "./sessions/request-session.ts";
import type { Session } from "./sessions/session.ts";
import { SessionManager } from "./sessions/session-manager.ts";
import { StoredSessions } from "./sessions/stored-sessions.ts";
import { SealedSessions } from "./stores/cookie-sessions.ts";
import { DatabaseSessions } from "./stores/database-sessions.ts";
import { SESSION_DATA_TABLE } from "./stores/session-data-table.ts";
import type { SessionKeeper } from "./stores/session-keeper.ts";
import { type CompleteSessionSettings, readSessionSettings, storeOf } from "./stores/settings.ts";
import "./messages.ts";

const SESSION = new KeyPurpose("session");

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** Manages all visitors' sessions. One visitor's session is `context.session`. */
    session: SessionManager;
  }
}

declare module "../http/exchange/context.ts" {
  interface FrameworkContext {
    /** This visitor's data, which is kept between requests; opened on first use. */
    readonly session: Session;
    /** The hidden input with the CSRF token; `csrf_field` in views. */
    readonly csrfField: CsrfField;
  }
}

/**
 * Adds session data to the application: `context.session`, forms that come back filled in, and CSRF tokens. Its
 * settings are `SESSION` in `config/session.ts`. With `databaseSessions()`, list it after `DatabaseProvider`.
 *
 * The guards, not sessions, keep track of who is logged in.
 */
export class SessionProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "session",
    errors: SESSION_ERRORS,
    messages: { english: SESSION_MESSAGES, translations: { de: () => import("./messages.de.ts") } },
    context: {
      session: openedSession,
      csrfField: csrfFieldOf,
    },
    keyPurposes: [SESSION, ...CSRF_PURPOSES],
    tables: {
      [SESSION_DATA_TABLE]: {
        columns: ["id", "data", "created_at", "last_used_at"],
        pruned: "sessions that have expired",
      },
    },
    routes: ["Csrf.routes"],
    checks: [
      {
        name: "Sessions",
        findings: {
          "sessions.store": "The store of the sessions can't be reached.",
        },
        load: () => import("./check-sessions.ts"),
      },
    ],
  });
  /** `false`, because pages without a session and API requests work without the store, and all instances share it. */
  override readonly failsReadiness: boolean = false;
  #manager: SessionManager | null = null;

  override register(): void {
    const { container, config, settings, logger } = this.application;
    const { SESSION } = config.optionalSection("session", ["SESSION"]);
    const session = readSessionSettings(SESSION, settings.url, settings.cookieSuffix);
    if (session.domain !== null && settings.environment === "production") {
      logger.warn(sharedCookieWarning("config/session.ts: SESSION.domain", session.domain));
    }
    // There is no warning if the author has set `sameSite`.
    const isDecided = Object(SESSION).sameSite !== undefined;
    const lost = isDecided ? null : lostCookies(session, settings.trustedOrigins.list, this.application.url);
    if (lost !== null) logger.warn(lost);
    container.singleton("session", () => {
      const keeper = createKeeper(session, settings, container);
      const tokens = new CsrfTokens(settings.key, { previousSecrets: settings.previousKeys });
      return new SessionManager(session, keeper, tokens, logger, () => container.make("router"));
    });
  }

  /** @throws `E_INVALID_CONFIGURATION` if sessions are in memory although several processes run the application */
  override async boot(): Promise<void> {
    const { container, isInspected } = this.application;
    this.#manager = container.make("session");
    if (this.#manager.keeper.isLocal) {
      const harm = "visitors would lose their sessions from one request to the next.";
      const remedy = 'Set store: databaseSessions(), or store: redisSessions({ url: env("REDIS_URL") }).';
      requireOneProcess(this.application, { where: "config/session.ts: SESSION.store", harm, remedy });
    }
    if (!isInspected) await this.#manager.keeper.connect?.();
    if (!container.has("views")) return;
    const views = container.make("views");
    views.printUnescaped(CsrfField);
    for (const [name, value] of Object.entries(NEUTRAL_HELPERS)) views.share(name, value);
    for (const [name, make] of Object.entries(VIEW_HELPERS)) views.shareByRequest(name, make);
  }

  /** @throws `E_INVALID_CONFIGURATION` if the store's table is missing where no migration creates it */
  override async listening(): Promise<void> {
    const keeper = this.#manager?.keeper;
    if (!(keeper instanceof StoredSessions) || !(keeper.store instanceof DatabaseSessions)) return;
    const { requireTableElsewhere } = await import("../database/index.ts");
    const { store } = keeper;
    await requireTableElsewhere(() => store.check());
  }

  override async prune(): Promise<Readonly<Record<string, number>>> {
    const manager = this.application.container.make("session");
    // Sealed cookies expire by themselves. Only a store on the server has something to delete.
    return manager.keeper.isRemote ? { "session data": await manager.prune() } : {};
  }

  override async check(): Promise<void> {
    await this.#manager?.keeper.check?.();
  }

  override async shutdown(): Promise<void> {
    await this.#manager?.settled();
    await this.#manager?.keeper.close();
  }
}

function createKeeper(
  session: CompleteSessionSettings,
  { key, previousKeys }: CompleteApplicationSettings,
  container: Container,
): SessionKeeper {
  const { store } = session;
  if (store !== "cookie") return new StoredSessions(storeOf(store, container), session);
  return new SealedSessions(new Sealer(key, SESSION, { previousSecrets: previousKeys }), session);
}

/**
 * Returns a warning about trusted origins whose pages' requests don't include cookies, because they are on another site
 * (RFC 6265bis §5.2, §5.7); `null` if there aren't any.
 *
 * @param url the application's own origin
 */
function lostCookies(
  { sameSite }: Pick<CompleteSessionSettings, "sameSite">,
  origins: readonly string[],
  url: string,
): string | null {
  if (sameSite === "none") return null;
  const other = origins.find((origin) => !isSameSite(origin, url));
  if (other === undefined) return null;
  return (
    `Pages of ${other}, one of APP.trustedOrigins, can't use sessions and logins: it is another site than ${url}, so ` +
    'browsers don\'t send the cookies. Serve both under one domain. Or set sameSite: "none" in config/session.ts, which ' +
    "needs https, and which browsers that block third-party cookies ignore. If those pages only use API tokens, set " +
    'sameSite: "lax", and this warning goes away.'
  );
}
