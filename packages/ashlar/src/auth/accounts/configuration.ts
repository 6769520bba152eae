import { ConfigurationError, settingsOf } from "../../support/index.ts";
import type { AccountMailables, AccountMailName } from "./account-mailables.ts";
import { type RetentionConfiguration, type RetentionSettings, retentionConfiguration } from "./retention.ts";

/** The shape of `ACCOUNTS` in `config/auth.ts`. */
export interface AccountsSettings {
  /** How long a verification link can be used, in minutes, at least 1; 1440 where left out. */
  readonly verificationExpires?: number;
  /** How long the link that completes a change of address can be used, in minutes, at least 1; 60 where left out. */
  readonly emailChangeExpires?: number;
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

/** `ACCOUNTS` of `config/auth.ts`, checked and with its defaults. */
export interface AccountsConfiguration {
  readonly verificationExpiresInMinutes: number;
  readonly emailChangeExpiresInMinutes: number;
  readonly preventEnumeration: boolean;
  readonly retention: RetentionConfiguration;
  readonly mailables: AccountMailables;
}

const WHERE = "config/auth.ts: ACCOUNTS";
const KEYS: readonly string[] = [
  "verificationExpires",
  "emailChangeExpires",
  "preventEnumeration",
  "retention",
  "mailables",
];
const MAILS: readonly AccountMailName[] = [
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
const DEFAULT_VERIFICATION = 1440;
/** Short: a link that moves an account to another mailbox is worth more than one that verifies a mailbox. */
const DEFAULT_EMAIL_CHANGE = 60;
const MINUTES_OF_A_YEAR = 525_600;

/**
 * Checks `ACCOUNTS`, fills in what is left out, and freezes it.
 *
 * @param accounts what `config/auth.ts` exports as `ACCOUNTS`; nothing where it does not
 * @throws `E_INVALID_CONFIGURATION`
 */
export function accountsConfiguration(accounts: unknown): AccountsConfiguration {
  const values = settingsOf(accounts, WHERE, KEYS);
  return Object.freeze({
    verificationExpiresInMinutes: minutes("verificationExpires", values.verificationExpires, DEFAULT_VERIFICATION),
    emailChangeExpiresInMinutes: minutes("emailChangeExpires", values.emailChangeExpires, DEFAULT_EMAIL_CHANGE),
    preventEnumeration: flag("preventEnumeration", values.preventEnumeration),
    retention: retentionConfiguration(values.retention, `${WHERE}.retention`),
    mailables: mailables(values.mailables),
  });
}

function minutes(name: string, value: unknown, byDefault: number): number {
  const minutes = value ?? byDefault;
  if (Number.isInteger(minutes) && (minutes as number) >= 1 && (minutes as number) <= MINUTES_OF_A_YEAR) {
    return minutes as number;
  }
  const problem = `is not a whole number of minutes from 1 to ${MINUTES_OF_A_YEAR}.`;
  throw new ConfigurationError(`${WHERE}.${name}`, problem, `Leave it out for ${byDefault}.`);
}

function flag(name: string, value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === "boolean") return value;
  throw new ConfigurationError(`${WHERE}.${name}`, "is neither true nor false.", "Leave it out for false.");
}

function mailables(value: unknown): AccountMailables {
  const where = `${WHERE}.mailables`;
  const members = settingsOf(value, where, MAILS);
  for (const [name, mailable] of Object.entries(members)) {
    if (mailable === null || mailable === undefined || isMailableClass(mailable)) continue;
    const remedy = "Name a class that extends Mailable, or leave it out.";
    throw new ConfigurationError(`${where}.${name}`, "is not the class of a mail.", remedy);
  }
  return Object.freeze({ ...members });
}

/** By its methods: an application that sends no mail does not load what sends them. */
function isMailableClass(value: unknown): boolean {
  if (typeof value !== "function" || typeof value.prototype !== "object" || value.prototype === null) return false;
  const { subject, content } = value.prototype as Record<string, unknown>;
  return typeof subject === "function" && typeof content === "function";
}
