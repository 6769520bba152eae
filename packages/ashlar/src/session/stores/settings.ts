import { type CookieSite, domainProblem, ownCookieName } from "../../http/index.ts";
import type { Container } from "../../kernel/index.ts";
import {
  type Complete,
  ConfigurationError,
  minutes,
  type Optional,
  oneOf,
  quoted,
  type Setting,
  setting,
  settings,
  text,
  textLike,
} from "../../support/index.ts";
import { cookieSessions } from "./cookie-sessions.ts";
import { databaseSessions } from "./database-sessions.ts";
import type { SessionStore, SessionStoreSource } from "./session-store.ts";

/** The framework's own stores, by name. */
export type SessionStoreName = "cookie" | "database";

/** `SESSION` in `config/session.ts`. */
export interface SessionSettings {
  /**
   * Where the data is kept: `cookieSessions()`, `databaseSessions()`, their names, or your own store; default:
   * `cookieSessions()`.
   */
  readonly store?: SessionStoreSource | SessionStoreName;
  /** The cookie's name; default: `session`. Over https, a prefix binds it to its host: `__Host-session`. */
  readonly cookie?: string;
  /**
   * The domain whose hosts share sessions, such as `shop.example` for `www` and `app` below it: the domain of `APP_URL`
   * or a parent. The cookie is then `__Secure-session` over https. Default: only the host that sets it.
   *
   * Security: every host below the domain gets the cookie and can set it.
   */
  readonly domain?: Optional<string>;
  /** The number of minutes without use after which a session ends, from 1 to 525,600; default: 120. */
  readonly lifetimeMinutes?: number;
  /**
   * The number of minutes after which a session ends no matter how much it is used, from `lifetimeMinutes` to 525,600;
   * default: a day or `lifetimeMinutes`, whichever is longer. A new id restarts the count.
   */
  readonly absoluteMinutes?: number;
  /**
   * Which requests from other sites include the cookie; default: `lax`. `none` is for a front end on another site in
   * `APP.trustedOrigins`. It needs https, and also applies to the login cookies.
   */
  readonly sameSite?: "lax" | "strict" | "none";
}

/** {@link SessionSettings}, checked and complete. */
export interface CompleteSessionSettings extends Omit<Complete<SessionSettings>, "store" | "domain"> {
  /** The store; `cookie` if the cookie itself contains the session. */
  readonly store: "cookie" | SessionStoreSource;
  /** The cookie's domain; `null` for only the host that sets the cookie. */
  readonly domain: string | null;
}

const WHERE = "config/session.ts: SESSION";
const DOMAIN_REMEDY = "Write the domain of APP_URL or one above it, as in shop.example, or leave it out.";
const DAY_IN_MINUTES = 1440;
/** A cookie's name is a token (RFC 6265 §4.1.1). */
const COOKIE_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
const PREFIXED = /^__(host|secure)-/i;

const STORES: Readonly<Record<SessionStoreName, "cookie" | SessionStoreSource>> = {
  cookie: cookieSessions(),
  database: databaseSessions(),
};

const STORE_FORMS = "cookieSessions(), databaseSessions(), or an object with the methods of SessionStore";

const STORE: Setting<"cookie" | SessionStoreSource, NonNullable<SessionSettings["store"]>> = setting({
  what: STORE_FORMS,
  remedy: `Write ${STORE_FORMS}, or leave it out.`,
  fallback: STORES.cookie,
  words: Object.keys(STORES),
  describe: quoted,
  accept(value) {
    if (typeof value === "function" || isStore(value)) return value as SessionStoreSource;
    const name = Object.keys(STORES).find((one) => one === value);
    return name === undefined ? undefined : STORES[name as SessionStoreName];
  },
});

const SCHEMA = settings<SessionSettings>()(
  {
    store: STORE,
    cookie: textLike('the name of a cookie, such as "visit"', COOKIE_NAME, "session"),
    domain: text(null),
    lifetimeMinutes: minutes(120),
    absoluteMinutes: minutes(null),
    sameSite: oneOf(["lax", "strict", "none"], "lax"),
  },
  { former: { driver: "Write store: cookieSessions(), or store: databaseSessions()." } },
);

/**
 * Reads `SESSION`.
 *
 * @param session the export `SESSION` of `config/session.ts`
 * @param appUrl the application's own origin; `null` if it is not known
 * @param suffix the end of the cookie's name; see {@link CookieSite}
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readSessionSettings(session: unknown, appUrl: string | null, suffix = ""): CompleteSessionSettings {
  const read = SCHEMA.read(session, WHERE);
  const isHttps = appUrl?.startsWith("https:") === true;
  const { lifetimeMinutes, sameSite } = read;
  const absoluteMinutes = read.absoluteMinutes ?? Math.max(DAY_IN_MINUTES, lifetimeMinutes);
  if (absoluteMinutes < lifetimeMinutes) {
    const problem = "is less than lifetimeMinutes, so lifetimeMinutes would have no effect.";
    throw new ConfigurationError(`${WHERE}.absoluteMinutes`, problem, `Set it to ${lifetimeMinutes} or more.`);
  }
  if (sameSite === "none" && !isHttps) throw requiresHttps("sameSite", sameSite);
  const cookie = cookieName(read.cookie, { isHttps, suffix }, read.domain);
  const problem = read.domain === null ? null : domainProblem(read.domain, appUrl);
  if (problem !== null) throw new ConfigurationError(`${WHERE}.domain`, problem, DOMAIN_REMEDY);
  return Object.freeze({ ...read, cookie, absoluteMinutes });
}

/**
 * The store itself, or the store created by the function.
 *
 * @throws `E_INVALID_CONFIGURATION` if the result is not a store
 */
export function storeOf(source: SessionStoreSource, container: Container): SessionStore {
  const made: unknown = typeof source === "function" ? source(container) : source;
  if (isStore(made)) return made;
  const remedy = "Return an object with the methods of SessionStore, not a promise.";
  throw new ConfigurationError(`${WHERE}.store`, "is a function that does not return a store.", remedy);
}

function isStore(value: unknown): value is SessionStore {
  const { maxBytes, read, create, update, destroy, close } = Object(value) as Partial<SessionStore>;
  const hasMethods = [read, create, update, destroy, close].every((method) => typeof method === "function");
  return hasMethods && Number.isSafeInteger(maxBytes);
}

function cookieName(name: string, site: CookieSite, domain: string | null): string {
  if (PREFIXED.test(name) && !site.isHttps) throw requiresHttps("cookie", name);
  if (domain !== null && /^__host-/i.test(name)) {
    const problem = `is "${name}", which browsers accept only without a domain.`;
    throw new ConfigurationError(`${WHERE}.cookie`, problem, "Leave the prefix out, or the domain.");
  }
  return ownCookieName(name, site, domain);
}

function requiresHttps(name: keyof SessionSettings, value: string): ConfigurationError {
  const problem = `is "${value}", which browsers accept only over https.`;
  return new ConfigurationError(`${WHERE}.${name}`, problem, "Set APP_URL to an https address, or leave it out.");
}
