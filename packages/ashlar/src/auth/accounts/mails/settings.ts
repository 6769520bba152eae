import { TABLE_NAME } from "../../../database/index.ts";
import {
  type Complete,
  derived,
  flag,
  integer,
  minutes,
  oneOf,
  recordOf,
  type Setting,
  setting,
  settings,
  shape,
} from "../../../support/index.ts";
import type { ConfiguredGuards } from "../../guards/guard-settings.ts";
import { FRONT_END_URL, type FrontEndUrls } from "../links/account-pages.ts";
import type { AccountMailableClass, AccountMailables, FrameworkAccountMails } from "./account-mailables.ts";

/** `ACCOUNTS.retention` in `config/auth.ts`: how long data about users is kept. */
export interface RetentionSettings {
  /**
   * How long an active login keeps its IP address and user agent without being used, and a security event its own, in
   * days, from 1; default: 30.
   */
  readonly addressDays?: number;
  /** How long a login is kept after it has expired, in days, from 0; default: 0. A logout deletes it immediately. */
  readonly loginDays?: number;
  /**
   * How long links that set a password or undo a change of address are kept after they have expired, with the address
   * that they were mailed to, in days, from 0; default: 0. A link is deleted as soon as it is used.
   */
  readonly linkDays?: number;
  /** How long events of an account are listed to its owner, in days, from 1; default: 90. See `accounts.events`. */
  readonly eventDays?: number;
  /** Whether the server deletes older data once a day; default: `true`. Otherwise run `ashlar prune`. */
  readonly prune?: boolean;
}

/** `ACCOUNTS.closing` in `config/auth.ts`: what happens to accounts that are closed, on the page `account.close` for example. */
export interface ClosingSettings {
  /**
   * How long an account can be reopened by a login after it was closed, in days, from 0 to 3650; default: 30. With `0`, it
   * is deleted or anonymized at once.
   */
  readonly graceDays?: number;
  /**
   * What happens then; default: `"delete"`, with everything that features store about the user. `"anonymize"` keeps the row, for
   * rows that refer to it, without credentials; its address and the {@link personalColumns} are replaced, and everything that
   * features store about the user is erased as for a deletion.
   */
  readonly removal?: "delete" | "anonymize";
  /**
   * The columns that say who the user is, besides the address and the name that users log in with; default:
   * `["name", "phone"]`. Those that the table lacks are ignored. When an account is anonymized, a text is replaced by 16
   * random characters, and anything else is emptied.
   */
  readonly personalColumns?: readonly string[];
}

/** The shape of `ACCOUNTS` in `config/auth.ts`. */
export interface AccountsSettings {
  /** How long a verification link can be used, in minutes, from 1 to 525,600; default: 1440. */
  readonly verificationExpiresInMinutes?: number;
  /** How long the link that completes a change of address can be used, in minutes, from 1 to 525,600; default: 60. */
  readonly emailChangeExpiresInMinutes?: number;
  /**
   * Whether registration and changes of address respond the same way to free and taken addresses; default: `false`. The
   * result is mailed to the owner of the address. Users can log in once their address is verified, so the model of
   * every guard with a page `register` needs `MustVerifyEmail` (ASVS 5.0 6.3.8), and the guard needs the page
   * `password_reset`: if an address is registered again before it is verified, its owner chooses a password there.
   */
  readonly preventEnumeration?: boolean;
  /**
   * Whether a link in a mail can set the first password of an account that never had one, for example because its user
   * logs in with an identity provider; default: `true`. With `false`, no link is mailed to such an account, and
   * visitors get the same response. A link can always replace a revoked password.
   */
  readonly firstPasswordByMail?: boolean;
  /**
   * The address of a front end that has the pages about accounts; default: the application's own. Links in mails lead
   * to its pages, at the paths that `Auth.routes` has: `/email/verify/<token>`, `/email/undo/<token>`,
   * `/password_reset?token=<token>`. Its origin is the origin of `APP_URL`, or one of `APP.trustedOrigins`. If guards
   * have their own front ends, give an address for each.
   */
  readonly frontEndUrl?: FrontEndUrls | undefined;
  /** How long data about users is kept, and whether the server prunes it by itself. */
  readonly retention?: RetentionSettings;
  /** What happens to accounts that are closed. */
  readonly closing?: ClosingSettings;
  /** The application's own mails. */
  readonly mailables?: AccountMailables;
}

/** {@link AccountsSettings}, checked and complete. */
export interface CompleteAccountsSettings extends Complete<Omit<AccountsSettings, "frontEndUrl">> {
  readonly frontEndUrl: FrontEndUrls | null;
  readonly retention: Complete<RetentionSettings>;
  readonly closing: Complete<ClosingSettings>;
}

const MAX_DAYS = 3650;

/** A class of mails, created with any data. */
type AnyMailable = AccountMailableClass<never>;

/** The names of the framework's own mails. */
export const BUILT_IN_NAMES: readonly (keyof FrameworkAccountMails)[] = [
  "verifyEmail",
  "resetPassword",
  "finishRegistration",
  "passwordChanged",
  "emailChanged",
  "emailChangeCompleted",
  "emailChangeUndone",
  "addressProved",
  "emailTaken",
  "guessesUsedUp",
  "newDevice",
  "tokenReused",
  "tokenCreated",
  "accountClosed",
];

/** A mail class in `ACCOUNTS.mailables`; `null` if it is missing. */
export const MAILABLE: Setting<AnyMailable | null> = setting({
  what: "a class that extends Mailable",
  accept: (value) => (isMailableClass(value) ? value : undefined),
  fallback: null,
});

const ANYTHING = setting<unknown>({ what: "a class that extends Mailable", accept: (value) => value, fallback: null });

/**
 * Other names belong to features, which may not have registered yet, or are mistakes: `AccountMailRegistry` checks them
 * later.
 */
const MAILABLES = derived(recordOf(ANYTHING, undefined, "verifyEmail"), (given, where) => {
  const own = BUILT_IN_NAMES.map((name) => [name, MAILABLE.read(given[name], `${where}.${name}`)]);
  return Object.freeze({ ...given, ...Object.fromEntries(own) }) as AccountMailables;
});

const COLUMNS = shape<readonly string[], readonly string[]>(
  'a list of columns: ["name", "phone"]',
  (value): value is readonly string[] => Array.isArray(value) && value.every((name) => TABLE_NAME.test(String(name))),
  Object.freeze(["name", "phone"]),
);

const SCHEMA = settings<AccountsSettings>()({
  verificationExpiresInMinutes: minutes(1440),
  // Short, because a link that moves an account to another mailbox is worth more to an attacker than a link that
  // verifies one.
  emailChangeExpiresInMinutes: minutes(60),
  preventEnumeration: flag(false),
  firstPasswordByMail: flag(true),
  frontEndUrl: FRONT_END_URL,
  retention: settings<RetentionSettings>()({
    // The lifetime of a remembered login, unless `rememberMinutes` is set.
    addressDays: integer({ from: 1, to: MAX_DAYS, unit: "days" }, 30),
    loginDays: integer({ from: 0, to: MAX_DAYS, unit: "days" }, 0),
    linkDays: integer({ from: 0, to: MAX_DAYS, unit: "days" }, 0),
    eventDays: integer({ from: 1, to: MAX_DAYS, unit: "days" }, 90),
    prune: flag(true),
  }),
  closing: settings<ClosingSettings>()({
    graceDays: integer({ from: 0, to: MAX_DAYS, unit: "days" }, 30),
    removal: oneOf(["delete", "anonymize"], "delete"),
    personalColumns: COLUMNS,
  }),
  mailables: MAILABLES,
});

/**
 * Reads `ACCOUNTS`.
 *
 * @param accounts the export `ACCOUNTS` of `config/auth.ts`
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readAccountsSettings(accounts: unknown): CompleteAccountsSettings {
  return SCHEMA.read(accounts, "config/auth.ts: ACCOUNTS");
}

/** Recognized by its methods, so that an application that sends no mail doesn't load the mail classes. */
export function isMailableClass(value: unknown): value is AnyMailable {
  if (typeof value !== "function" || typeof value.prototype !== "object" || value.prototype === null) return false;
  const { subject, content } = value.prototype as Record<string, unknown>;
  return typeof subject === "function" && typeof content === "function";
}

/** The exports of `config/auth.ts`, checked and complete. */
export interface CompleteAuthSettings extends ConfiguredGuards {
  /** The table of password resets. */
  readonly passwordResetTable: string;
  /** How long a password reset link can be used, in minutes; `null` if it never expires. */
  readonly passwordResetExpirationInMinutes: number | null;
  readonly accounts: CompleteAccountsSettings;
}
