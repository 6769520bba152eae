import {
  type Complete,
  integer,
  type MaybePromise,
  type RegisteredUser,
  setting,
  settings,
  text,
} from "../support/index.ts";

/** Decides whether a user needs a second factor. */
type RequiredOf = (user: RegisteredUser) => MaybePromise<boolean>;

/** The shape of `TWO_FACTOR` in `config/two-factor.ts`. */
export interface TwoFactorSettings {
  /**
   * Who needs a second factor: `true` for all users, or a function that decides about each one, such as
   * `(user) => user.is_admin`. A login of someone who needs one and has none waits until it is set up, at every guard.
   * Default: `false`, only those who have set one up.
   */
  readonly required?: boolean | RequiredOf;
  /** For how many days, from their first login on, users who need a second factor can log in without one; default: 0. */
  readonly graceDays?: number;
  /**
   * For how many days users can let a device skip the second factor, if they want to; `null`, the default: they can't. Routes
   * with the middleware `two-factor` ask for it all the same.
   */
  readonly trustDays?: number | null;
  /** The application's name in authenticator apps; default: `APP.name`. */
  readonly issuer?: string | null;
}

export type CompleteTwoFactorSettings = Complete<TwoFactorSettings>;

const REQUIRED = setting<boolean | RequiredOf>({
  what: "true, false, or a function that decides about each user: (user) => user.is_admin",
  accept: (value) => (typeof value === "boolean" || typeof value === "function" ? (value as RequiredOf) : undefined),
  fallback: false,
});

const SCHEMA = settings<TwoFactorSettings>()({
  required: REQUIRED,
  graceDays: integer({ from: 0, to: 3650 }, 0),
  trustDays: integer({ from: 1, to: 365 }, null),
  issuer: text(null),
});

/** @throws `E_INVALID_CONFIGURATION` */
export function readTwoFactorSettings(given: unknown): CompleteTwoFactorSettings {
  return SCHEMA.read(given, "config/two-factor.ts: TWO_FACTOR");
}
