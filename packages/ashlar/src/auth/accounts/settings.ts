import {
  type Complete,
  derived,
  flag,
  minutes,
  recordOf,
  type Setting,
  setting,
  settings,
  whole,
} from "../../support/index.ts";
import type { AccountMailableClass, AccountMailables, FrameworkAccountMails } from "./account-mailables.ts";

/** `ACCOUNTS.retention` in `config/auth.ts`: how long what is stored of users is kept. */
export interface RetentionSettings {
  /** How long a login that goes on keeps its IP address and user agent when it is not used, in days, from 1; 30 if left out. */
  readonly addressDays?: number;
  /** How long a login is kept after it has ended, in days, from 0; 0 if left out. A logout deletes it at once. */
  readonly loginDays?: number;
  /**
   * How long links that set a password or undo a change of address, and the address that they were mailed to, are kept
   * after they have expired, in days, from 0; 0 if left out. A link that is used is deleted at once.
   */
  readonly linkDays?: number;
  /** Whether the server deletes once a day what is older; `true` if left out. Otherwise run `ashlar prune`. */
  readonly prune?: boolean;
}

/** The shape of `ACCOUNTS` in `config/auth.ts`. */
export interface AccountsSettings {
  /** How long a verification link can be used, in minutes, from 1 to 525,600; 1440 if left out. */
  readonly verificationExpiresMinutes?: number;
  /** How long the link that completes a change of address can be used, in minutes, from 1 to 525,600; 60 if left out. */
  readonly emailChangeExpiresMinutes?: number;
  /**
   * Whether registration and changes of address answer alike for addresses that are free and that are taken; `false` if
   * left out. What comes of it, the owner of the address is told by mail. Users can log in once their address is verified,
   * so the model of every guard with a page `register` needs `MustVerifyEmail` (ASVS 5.0 6.3.8), and the guard the page
   * `password_reset`: if an address is registered again before it is verified, its owner chooses a password there.
   */
  readonly preventEnumeration?: boolean;
  /** How long what is stored of users is kept, and whether the server prunes by itself. */
  readonly retention?: RetentionSettings;
  /** The application's own mails. */
  readonly mailables?: AccountMailables;
}

/** {@link AccountsSettings}, as they are read. */
export interface CompleteAccountsSettings extends Complete<AccountsSettings> {
  readonly retention: Complete<RetentionSettings>;
}

const MAX_DAYS = 3650;

/** A class of mails, whatever they are created with. */
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
  "emailTaken",
  "newDevice",
];

/** A class of a mail in `ACCOUNTS.mailables`; `null` if it is left out. */
export const MAILABLE: Setting<AnyMailable | null> = setting({
  what: "a class that extends Mailable",
  accept: (value) => (isMailableClass(value) ? value : undefined),
  fallback: null,
});

const ANYTHING = setting<unknown>({ what: "a class that extends Mailable", accept: (value) => value, fallback: null });

/** Other names are those of features, which add theirs until all have registered, or mistakes: `AccountMailRegistry` says. */
const MAILABLES = derived(recordOf(ANYTHING, undefined, "verifyEmail"), (given, where) => {
  const own = BUILT_IN_NAMES.map((name) => [name, MAILABLE.read(given[name], `${where}.${name}`)]);
  return Object.freeze({ ...given, ...Object.fromEntries(own) }) as AccountMailables;
});

const SCHEMA = settings<AccountsSettings>()({
  verificationExpiresMinutes: minutes(1440),
  // Short: a link that moves an account to another mailbox is worth more than one that verifies a mailbox.
  emailChangeExpiresMinutes: minutes(60),
  preventEnumeration: flag(false),
  retention: settings<RetentionSettings>()({
    // As long as a login that is remembered lasts, unless `rememberMinutes` says otherwise.
    addressDays: whole({ from: 1, to: MAX_DAYS, unit: "days" }, 30),
    loginDays: whole({ from: 0, to: MAX_DAYS, unit: "days" }, 0),
    linkDays: whole({ from: 0, to: MAX_DAYS, unit: "days" }, 0),
    prune: flag(true),
  }),
  mailables: MAILABLES,
});

/**
 * Reads `ACCOUNTS`.
 *
 * @param accounts what `config/auth.ts` exports as `ACCOUNTS`
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readAccountsSettings(accounts: unknown): CompleteAccountsSettings {
  return SCHEMA.read(accounts, "config/auth.ts: ACCOUNTS");
}

/** By its methods: an application that sends no mail does not load what sends them. */
export function isMailableClass(value: unknown): value is AnyMailable {
  if (typeof value !== "function" || typeof value.prototype !== "object" || value.prototype === null) return false;
  const { subject, content } = value.prototype as Record<string, unknown>;
  return typeof subject === "function" && typeof content === "function";
}
