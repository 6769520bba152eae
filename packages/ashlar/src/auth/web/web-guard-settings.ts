import { type CookieSite, domainProblem, ownCookieName } from "../../http/index.ts";
import type { Logger } from "../../kernel/index.ts";
import {
  type Complete,
  ConfigurationError,
  minutes,
  type Optional,
  settings,
  shape,
  text,
  textLike,
} from "../../support/index.ts";
import type { AccessEnding } from "../access/end-access.ts";
import { MAX_PER_USER } from "../credentials/credential-shape.ts";
import type { CredentialUses } from "../credentials/credential-uses.ts";
import { GUARD_SETTINGS } from "../guards/guard-settings.ts";
import { databaseLogins } from "../logins/database/database-logins.ts";
import type { KnownDevices } from "../logins/devices.ts";
import { isLoginStoreSource, type LoginStore, type LoginStoreSource, type LoginUse } from "../logins/login-store.ts";
import type { LoginSuccessors } from "../logins/login-successors.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import type { WebGuard } from "./web-guard.ts";

/** The options of a `GUARDS` entry with the driver `web`, in addition to `driver`, `model` and `routes`. */
export interface WebGuardSettings {
  /**
   * The name of the cookie. Default: `token` for the guard `web`, and `<name>_token` for any other. Over https it gets
   * the prefix `__Host-`: no other host, and no response over plain http, can set it.
   */
  readonly cookie?: string;
  /**
   * The domain whose hosts share the login, such as `shop.example` for `www` and `app` below it: the domain of
   * `APP_URL` or a parent. The cookie is then `__Secure-token` over https. Default: only the host that sets it.
   *
   * Security: every host below the domain gets the cookie and can set it.
   */
  readonly domain?: Optional<string>;
  /**
   * How long a login lasts without being used, in minutes, 1 to 576,000; default: 120, or `absoluteMinutes` if that is
   * less.
   */
  readonly idleMinutes?: number;
  /** How long a login lasts at most, in minutes, 1 to 576,000; default: 720, or `idleMinutes` if that is more. */
  readonly absoluteMinutes?: number;
  /** How long a remembered login lasts, used or not, in minutes, 1 to 576,000; default: 43,200 (30 days). */
  readonly rememberMinutes?: number;
  /**
   * How many logins a user can have at once, one per device, 1 to 10,000; default: 100. Another login ends the oldest.
   */
  readonly maxPerUser?: number;
  /** The store of the logins; default: `databaseLogins()`. */
  readonly logins?: LoginStoreSource;
}

/** {@link WebGuardSettings}, checked and complete. */
export interface CompleteWebGuardSettings extends Pick<Complete<WebGuardSettings>, "cookie" | "maxPerUser" | "logins"> {
  /** The cookie's domain; `null` for only the host. */
  readonly domain: string | null;
  /** The cookie of logins from before `domain` was set, which are continued; `null` without a domain. */
  readonly formerCookie: string | null;
  readonly idleMs: number;
  readonly absoluteMs: number;
  readonly rememberMs: number;
}

/** Browsers keep no cookie for longer (RFC 6265bis §5.5). */
const MAX_MINUTES = 400 * 24 * 60;
const DOMAIN_REMEDY = "Write the domain of APP_URL or one above it, as in shop.example, or leave it out.";
const DEFAULT_IDLE_MINUTES = 2 * 60;
const DEFAULT_ABSOLUTE_MINUTES = 12 * 60;
const MS_PER_MINUTE = 60_000;

const COOKIE = textLike('letters, digits, "-" and "_": "token"', /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/, null);

const SCHEMA = settings<WebGuardSettings>()(
  {
    cookie: COOKIE,
    domain: text(null),
    idleMinutes: minutes(null, MAX_MINUTES),
    absoluteMinutes: minutes(null, MAX_MINUTES),
    rememberMinutes: minutes(30 * 24 * 60, MAX_MINUTES),
    maxPerUser: MAX_PER_USER,
    // A single value, so all guards without this option share a store.
    logins: shape("databaseLogins(), or a LoginStore", isLoginStoreSource, databaseLogins()),
  },
  { alongside: GUARD_SETTINGS },
);

/**
 * Reads the options of an entry of `GUARDS` for the driver `web`.
 *
 * @param guard the guard's name
 * @param options the entry without `driver`, `model` and `routes`
 * @param site the settings that the cookie's name depends on
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readWebGuardSettings(guard: string, options: unknown, site: CookieSite): CompleteWebGuardSettings {
  const where = `config/auth.ts: GUARDS.${guard}`;
  const read = SCHEMA.read(options, where);
  const idle = read.idleMinutes ?? Math.min(DEFAULT_IDLE_MINUTES, read.absoluteMinutes ?? DEFAULT_ABSOLUTE_MINUTES);
  const absolute = read.absoluteMinutes ?? Math.max(DEFAULT_ABSOLUTE_MINUTES, idle);
  const remember = read.rememberMinutes;
  if (idle > absolute) {
    const problem = `idleMinutes (${idle}) is more than absoluteMinutes (${absolute}).`;
    throw new ConfigurationError(where, problem, "An unused login must not outlast one that is in use.");
  }
  if (remember <= absolute) {
    const problem = `rememberMinutes (${remember}) is not more than absoluteMinutes (${absolute}).`;
    throw new ConfigurationError(where, problem, "A remembered login must last longer than one that is not.");
  }
  const { domain } = read;
  const problem = domain === null ? null : domainProblem(domain, site.url ?? null);
  if (problem !== null) throw new ConfigurationError(`${where}.domain`, problem, DOMAIN_REMEDY);
  const name = read.cookie ?? defaultCookie(guard);
  return Object.freeze({
    cookie: cookieName(name, `${where}.cookie`, site, domain),
    domain,
    formerCookie: domain === null ? null : ownCookieName(name, site),
    idleMs: idle * MS_PER_MINUTE,
    absoluteMs: absolute * MS_PER_MINUTE,
    rememberMs: remember * MS_PER_MINUTE,
    maxPerUser: read.maxPerUser,
    logins: read.logins,
  });
}

function defaultCookie(guard: string): string {
  return guard === "web" ? "token" : `${guard}_token`;
}

function cookieName(name: string, where: string, site: CookieSite, domain: string | null): string {
  // A default name can be invalid too, because of the guard's name.
  COOKIE.read(name, where);
  if (name.startsWith("__")) {
    throw new ConfigurationError(where, "has a prefix.", "Leave it out: over https __Host- is added.");
  }
  return ownCookieName(name, site, domain);
}

/** The dependencies of a `WebGuard`, created once, at boot, for all requests. */
export interface WebGuardDependencies {
  readonly settings: CompleteWebGuardSettings;
  readonly store: LoginStore;
  readonly successors: LoginSuccessors;
  readonly uses: CredentialUses<LoginUse>;
  readonly devices: KnownDevices;
  /** The requests from other sites that carry the login's cookie. */
  readonly sameSite: "lax" | "none";
  readonly logger: Logger;
  /** Ends access to the account of a user, except the login of a request's guard if `what` is `others`. */
  readonly endAccess: (
    user: Authenticatable,
    ending: AccessEnding<Authenticatable> & {
      readonly keeper: WebGuard<object>;
      /** The client's address. */
      readonly address: string | null;
    },
  ) => Promise<Authenticatable | null>;
}
