import { ConfigurationError, settingsOf } from "../support/index.ts";

/** Where the data of a session is kept: sealed in its cookie, or in the table `session_data`. */
export type SessionDriver = "cookie" | "database";

/** `SESSION` of `config/session.ts`, checked and with its defaults. */
export interface SessionConfiguration {
  readonly driver: SessionDriver;
  /** The cookie's name, with its prefix: over https it is bound to its host, `__Host-session`. */
  readonly cookie: string;
  /** After how many minutes without use a session ends. */
  readonly lifetimeMinutes: number;
  /** After how many minutes a session ends, however much it is used; a new id begins a new count. */
  readonly absoluteMinutes: number;
  /** Which requests of other sites carry the cookie. */
  readonly sameSite: "lax" | "strict" | "none";
}

const WHERE = "config/session.ts: SESSION";
const KEYS = ["driver", "cookie", "lifetimeMinutes", "absoluteMinutes", "sameSite"];
const DRIVERS = ["cookie", "database"] as const;
const SAME_SITE = ["lax", "strict", "none"] as const;
const DEFAULT_LIFETIME = 120;
const DEFAULT_ABSOLUTE = 1440;
const MINUTES_OF_A_YEAR = 525_600;

/** RFC 6265 §4.1.1: a cookie's name is a token. */
const COOKIE_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
const PREFIXED = /^__(host|secure)-/i;

/**
 * Checks `SESSION`, fills in what is left out, and freezes it. `null`, `undefined` and `""` count as left out.
 *
 * @param session what `config/session.ts` exports as `SESSION`
 * @param appUrl the application's own origin, where it is known
 * @throws `E_INVALID_CONFIGURATION`
 */
export function sessionConfiguration(session: unknown, appUrl: string | null): SessionConfiguration {
  const values = settingsOf(session, WHERE, KEYS, '{ driver: "cookie" }');
  const isHttps = appUrl?.startsWith("https:") === true;
  const lifetimeMinutes = minutes(values, "lifetimeMinutes", DEFAULT_LIFETIME);
  const absoluteMinutes = minutes(values, "absoluteMinutes", Math.max(DEFAULT_ABSOLUTE, lifetimeMinutes));
  if (absoluteMinutes < lifetimeMinutes) {
    throw new ConfigurationError(
      `${WHERE}.absoluteMinutes`,
      "is less than lifetimeMinutes, so that the latter would mean nothing.",
      `Set it to ${lifetimeMinutes} or more.`,
    );
  }
  return Object.freeze({
    driver: choice(values, "driver", DRIVERS, "cookie"),
    cookie: cookieName(values.cookie, isHttps),
    lifetimeMinutes,
    absoluteMinutes,
    sameSite: sameSite(values, isHttps),
  });
}

function isLeftOut(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

function choice<T extends string>(
  values: Readonly<Record<string, unknown>>,
  key: string,
  choices: readonly T[],
  fallback: T,
): T {
  const value = values[key];
  if (isLeftOut(value)) return fallback;
  const chosen = choices.find((one) => one === value);
  if (chosen !== undefined) return chosen;
  const remedy = `It can be ${choices.map((one) => `"${one}"`).join(", ")}.`;
  throw new ConfigurationError(`${WHERE}.${key}`, `is ${JSON.stringify(value) ?? typeof value}.`, remedy);
}

function minutes(values: Readonly<Record<string, unknown>>, key: string, fallback: number): number {
  const value = values[key];
  if (isLeftOut(value)) return fallback;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MINUTES_OF_A_YEAR) {
    return value as number;
  }
  const problem = `is not a whole number of minutes from 1 to ${MINUTES_OF_A_YEAR}.`;
  throw new ConfigurationError(`${WHERE}.${key}`, problem, `Leave it out for ${fallback}.`);
}

function cookieName(given: unknown, isHttps: boolean): string {
  const value = isLeftOut(given) ? "session" : given;
  if (typeof value !== "string" || !COOKIE_NAME.test(value)) {
    throw new ConfigurationError(`${WHERE}.cookie`, "cannot be the name of a cookie.", 'Write cookie: "session".');
  }
  const isPrefixed = PREFIXED.test(value);
  if (isPrefixed && !isHttps) {
    const problem = `is "${value}", which browsers take over https alone.`;
    throw new ConfigurationError(`${WHERE}.cookie`, problem, "Set APP_URL to an https address, or leave the name out.");
  }
  // RFC 6265bis §4.1.3.2: no other host, and nothing that came over plain http, can set a cookie with this prefix.
  return isHttps && !isPrefixed ? `__Host-${value}` : value;
}

function sameSite(values: Readonly<Record<string, unknown>>, isHttps: boolean): SessionConfiguration["sameSite"] {
  const chosen = choice(values, "sameSite", SAME_SITE, "lax");
  if (chosen !== "none" || isHttps) return chosen;
  const problem = 'is "none", which browsers take over https alone.';
  throw new ConfigurationError(`${WHERE}.sameSite`, problem, "Set APP_URL to an https address, or leave it out.");
}
