import { ConfigurationError, unknownSetting } from "../../support/index.ts";
import { GUARD_SETTINGS } from "../configuration.ts";

/** How long the sessions of a guard last, and which cookie carries their token. */
export interface WebGuardOptions {
  /** The name of the cookie, its prefix included. */
  readonly cookie: string;
  /** How long a session lasts without being used, in milliseconds. */
  readonly idleMs: number;
  /** How long a session lasts at most, in milliseconds. */
  readonly absoluteMs: number;
  /** How long a session lasts that is to be remembered, used or not, in milliseconds. */
  readonly rememberMs: number;
}

const DEFAULT_IDLE_MINUTES = 2 * 60;
const DEFAULT_ABSOLUTE_MINUTES = 12 * 60;
const DEFAULT_REMEMBER_MINUTES = 30 * 24 * 60;
/** Browsers keep no cookie for longer (RFC 6265bis §5.5). */
const MAX_MINUTES = 400 * 24 * 60;
const MS_PER_MINUTE = 60_000;
const NAMES = ["cookie", "idleMinutes", "absoluteMinutes", "rememberMinutes"];
const COOKIE_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;

/**
 * Validates the options of an entry of `GUARDS` whose driver is `web`.
 *
 * The cookie of the guard `web` is `token`, that of any other `<name>_token`, unless `cookie` names it. Over https it
 * gets the prefix `__Host-`: no other host, and nothing that came over plain http, can set it.
 *
 * @param guard the guard's name
 * @param options what the entry holds beyond driver and model
 * @param isHttps whether the application's URL is https
 * @throws `E_INVALID_CONFIGURATION`
 */
export function webGuardOptions(
  guard: string,
  options: Readonly<Record<string, unknown>>,
  isHttps: boolean,
): WebGuardOptions {
  const where = `config/auth.ts: GUARDS.${guard}`;
  const unknown = Object.keys(options).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw unknownSetting(`${where}.${unknown}`, unknown, [...GUARD_SETTINGS, ...NAMES]);
  const read = (name: string, byDefault: number): number => minutes(where, name, options[name], byDefault);
  const idle = read("idleMinutes", Math.min(DEFAULT_IDLE_MINUTES, read("absoluteMinutes", DEFAULT_ABSOLUTE_MINUTES)));
  const absolute = read("absoluteMinutes", Math.max(DEFAULT_ABSOLUTE_MINUTES, idle));
  const remember = read("rememberMinutes", DEFAULT_REMEMBER_MINUTES);
  if (idle > absolute) {
    const problem = `idleMinutes (${idle}) is more than absoluteMinutes (${absolute}).`;
    throw new ConfigurationError(where, problem, "A session that is not used ends no later than one that is.");
  }
  if (remember <= absolute) {
    const problem = `rememberMinutes (${remember}) is not more than absoluteMinutes (${absolute}).`;
    throw new ConfigurationError(where, problem, "A session that is remembered lasts longer than one that is not.");
  }
  return Object.freeze({
    cookie: cookieName(where, options.cookie === undefined ? defaultCookie(guard) : options.cookie, isHttps),
    idleMs: idle * MS_PER_MINUTE,
    absoluteMs: absolute * MS_PER_MINUTE,
    rememberMs: remember * MS_PER_MINUTE,
  });
}

function defaultCookie(guard: string): string {
  return guard === "web" ? "token" : `${guard}_token`;
}

function cookieName(where: string, name: unknown, isHttps: boolean): string {
  if (typeof name !== "string" || !COOKIE_NAME.test(name)) {
    const remedy = 'Name it with letters, digits, "-" and "_": cookie: "token".';
    throw new ConfigurationError(`${where}.cookie`, "it is not the name of a cookie.", remedy);
  }
  if (name.startsWith("__")) {
    throw new ConfigurationError(`${where}.cookie`, "it has a prefix.", "Leave it out: over https __Host- is added.");
  }
  return isHttps ? `__Host-${name}` : name;
}

function minutes(where: string, name: string, value: unknown, byDefault: number): number {
  if (value === undefined) return byDefault;
  if (Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= MAX_MINUTES) return value as number;
  const problem = `it is not a whole number of minutes from 1 to ${MAX_MINUTES}.`;
  throw new ConfigurationError(`${where}.${name}`, problem, `Write ${name}: ${byDefault}.`);
}
