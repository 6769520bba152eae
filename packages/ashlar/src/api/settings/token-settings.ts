import { DEFAULT_MAX_PER_USER, MAX_PER_USER } from "../../auth/index.ts";
import { integer, minutes, type Setting, setting, settings, textLike } from "../../support/index.ts";

/** One active token per user: {@link single}. */
export interface SingleTokensSettings {
  readonly kind: "single";
}

interface ManyOptions {
  /** How long an access token is valid, in minutes; default: 15. */
  readonly accessMinutes?: number;
  /** How long a refresh token can be used, in days; default: 30. */
  readonly refreshDays?: number;
  /** How many logins a user can have at once, 1 to 10,000; default: 100. Another login ends the oldest. */
  readonly maxPerUser?: number;
}

/** Any number of tokens per user: {@link many}. */
export interface ManyTokensSettings extends Required<ManyOptions> {
  readonly kind: "many";
}

interface PersonalOptions {
  /** The maximum lifetime of a token, in days from 1 to 3650; default: 365. With `null`, tokens need not expire. */
  readonly maximumDays?: number | null;
  /**
   * How many active tokens a user can have at once, 1 to 10,000; default: 100. Beyond that, new tokens are refused,
   * because ending the oldest could break a script.
   */
  readonly maxPerUser?: number;
  /**
   * The prefix of tokens: 2 to 15 lower-case letters and digits, beginning with a letter, followed by `_`; default:
   * `ash_`.
   */
  readonly prefix?: string;
}

/** Personal tokens of a driver's users: {@link personal}. */
export interface PersonalTokensSettings extends Required<PersonalOptions> {
  readonly kind: "personal";
}

/** How many tokens a user has, and how they are renewed: `tokens` of a driver. */
export type TokensSettings = SingleTokensSettings | ManyTokensSettings;

const DAY_MINUTES = 1440;
const MAX_DAYS = 3650;
const DEFAULT_DAYS = 365;
/** The default prefix, which secret scanners look for. */
const DEFAULT_PREFIX = "ash_";

/** Each user has one active token, whose digest is in a column of the user: `tokens` of a driver. This is the default. */
export function single(): SingleTokensSettings {
  return Object.freeze({ kind: "single" });
}

/**
 * Each login gets its own token, in the table `api_tokens`: `tokens` of a driver. The token is a short-lived access
 * token, and comes with a refresh token that is replaced with each use.
 *
 * ```ts
 * // in DRIVERS of config/api.ts
 * const jwt = { secret: env("JWT_SECRET"), model: User, tokens: many({ accessMinutes: 15, refreshDays: 30 }) };
 * ```
 */
export function many(options: ManyOptions = {}): ManyTokensSettings {
  return Object.freeze({
    accessMinutes: 15,
    refreshDays: 30,
    maxPerUser: DEFAULT_MAX_PER_USER,
    ...options,
    kind: "many",
  });
}

/**
 * Personal tokens for scripts: `personal` of a driver. Users create them at `/account/tokens`, each with a name,
 * abilities and an expiry, and see each token only once.
 *
 * ```ts
 * // in DRIVERS of config/api.ts
 * const jwt = { secret: env("JWT_SECRET"), model: User, personal: personal({ maximumDays: 90 }) };
 * ```
 */
export function personal(options: PersonalOptions = {}): PersonalTokensSettings {
  return Object.freeze({
    maximumDays: DEFAULT_DAYS,
    maxPerUser: DEFAULT_MAX_PER_USER,
    prefix: DEFAULT_PREFIX,
    ...options,
    kind: "personal",
  });
}

const MANY = settings<ManyOptions>()(
  {
    accessMinutes: minutes(15),
    refreshDays: integer({ from: 1, to: MAX_DAYS, unit: "days" }, 30),
    maxPerUser: MAX_PER_USER,
  },
  {
    check({ accessMinutes, refreshDays }, refuse) {
      if (accessMinutes < refreshDays * DAY_MINUTES) return;
      const problem = "an access token would outlive its refresh token.";
      throw refuse("accessMinutes", problem, "Write a number of minutes that is shorter than refreshDays.");
    },
  },
);

const PERSONAL_OPTIONS = settings<PersonalOptions>()({
  maximumDays: setting<number | null, number>({
    what: `a whole number of days from 1 to ${MAX_DAYS}, or null`,
    takesNull: true,
    accept: (value) => (value === null || isDays(value) ? value : undefined),
    fallback: DEFAULT_DAYS,
  }),
  maxPerUser: MAX_PER_USER,
  prefix: textLike(
    "2 to 15 lower-case letters and digits, beginning with a letter, and _",
    /^[a-z][a-z0-9]{1,14}_$/,
    DEFAULT_PREFIX,
  ),
});

/** The setting `tokens` of a driver. */
export const TOKENS: Setting<TokensSettings> = setting<TokensSettings>({
  what: "single() or many({ accessMinutes: 15, refreshDays: 30 })",
  accept(value, where) {
    const { kind, ...options } = Object(value) as Record<string, unknown>;
    if (kind === "single") return single();
    return kind === "many" ? many(MANY.read(options, where)) : undefined;
  },
  fallback: single(),
});

/** The setting `personal` of a driver; `null` without personal tokens. */
export const PERSONAL: Setting<PersonalTokensSettings | null, PersonalTokensSettings> = setting({
  what: "personal({ maximumDays: 365 })",
  accept(value, where) {
    const { kind, ...options } = Object(value) as Record<string, unknown>;
    return kind === "personal" ? personal(PERSONAL_OPTIONS.read(options, where)) : undefined;
  },
  fallback: null,
});

function isDays(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= MAX_DAYS;
}
