import { DEFAULT_MAX_PER_USER, MAX_PER_USER } from "../../auth/index.ts";
import { type Setting, setting, settings, textLike } from "../../support/index.ts";

/** Personal tokens of a driver's users: {@link personal}. */
export interface PersonalTokensSettings {
  readonly kind: "personal";
  /** How long a token is valid at most, in days; `null`: a token may be without an expiry. */
  readonly maximumDays: number | null;
  /** How many active tokens a user can have at once; one beyond that is refused. */
  readonly maxPerUser: number;
  /** What tokens begin with. */
  readonly prefix: string;
}

const DEFAULT_DAYS = 365;
const MAX_DAYS = 3650;

/** What secret scanners look for by default. */
export const DEFAULT_PREFIX = "ash_";

/**
 * Personal tokens for scripts: `personal` of a driver. Users create them at `/account/tokens`, each with a name, abilities
 * and an expiry, and see each of them once.
 *
 * ```ts
 * // in DRIVERS of config/api.ts
 * const jwt = { secret: env("JWT_SECRET"), model: User, personal: personal({ maximumDays: 90 }) };
 * ```
 *
 * @param options how long a token is valid at most, in days from 1 to 3650 (default: 365; `null`: tokens may be without an
 * expiry), how many active tokens a user can have at once, from 1 to 10,000 (default: 100; one beyond that is refused, because
 * ending the oldest would stop a script), and what tokens begin with: 2 to 15 lower-case letters and digits, beginning with a
 * letter, and `_` (default: `ash_`)
 */
export function personal(
  options: { readonly maximumDays?: number | null; readonly maxPerUser?: number; readonly prefix?: string } = {},
): PersonalTokensSettings {
  const { maximumDays = DEFAULT_DAYS, maxPerUser = DEFAULT_MAX_PER_USER, prefix = DEFAULT_PREFIX } = options;
  return Object.freeze({ kind: "personal", maximumDays, maxPerUser, prefix });
}

type PersonalOptions = Omit<PersonalTokensSettings, "kind">;

const OPTIONS = settings<NonNullable<Parameters<typeof personal>[0]>>()({
  maximumDays: setting<number | null, number>({
    what: `a whole number of days from 1 to ${MAX_DAYS}, or null`,
    takesNull: true,
    accept: (value) => (value === null || isCount(value, MAX_DAYS) ? (value as number | null) : undefined),
    fallback: DEFAULT_DAYS,
  }),
  maxPerUser: MAX_PER_USER,
  prefix: textLike(
    "2 to 15 lower-case letters and digits, beginning with a letter, and _",
    /^[a-z][a-z0-9]{1,14}_$/,
    DEFAULT_PREFIX,
  ),
});

/** The setting `personal` of a driver: {@link personal}, or `null` without personal tokens. */
export const PERSONAL: Setting<PersonalTokensSettings | null, PersonalTokensSettings> = setting({
  what: "personal({ maximumDays: 365 })",
  accept(value, where) {
    const { kind, ...options } = Object(value) as Record<string, unknown>;
    return kind === "personal" ? personal(OPTIONS.read(options, where) as PersonalOptions) : undefined;
  },
  fallback: null,
});

function isCount(value: unknown, most: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most;
}
