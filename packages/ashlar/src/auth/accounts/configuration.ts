import { ConfigurationError, isPlainObject, suggestion } from "../../support/index.ts";
import type { AccountMailables, AccountMailName } from "./account-mailables.ts";

/** The shape of `ACCOUNTS` in `config/auth.ts`. */
export interface AccountsSettings {
  /** How long a verification link can be used, in minutes, at least 1; 1440 where left out. */
  readonly verificationExpires?: number;
  /** The application's own mails. */
  readonly mailables?: AccountMailables;
}

/** `ACCOUNTS` of `config/auth.ts`, checked and with its defaults. */
export interface AccountsConfiguration {
  readonly verificationExpiresInMinutes: number;
  readonly mailables: AccountMailables;
}

const WHERE = "config/auth.ts: ACCOUNTS";
const KEYS: readonly string[] = ["verificationExpires", "mailables"];
const MAILS: readonly AccountMailName[] = [
  "verifyEmail",
  "resetPassword",
  "passwordChanged",
  "emailChanged",
  "newDevice",
];
const DEFAULT_EXPIRATION = 1440;
const MINUTES_OF_A_YEAR = 525_600;

/**
 * Checks `ACCOUNTS`, fills in what is left out, and freezes it.
 *
 * @param accounts what `config/auth.ts` exports as `ACCOUNTS`; nothing where it does not
 * @throws `E_INVALID_CONFIGURATION`
 */
export function accountsConfiguration(accounts: unknown): AccountsConfiguration {
  const values = membersOf(accounts, WHERE, KEYS);
  return Object.freeze({
    verificationExpiresInMinutes: verificationExpires(values.verificationExpires),
    mailables: mailables(values.mailables),
  });
}

function membersOf(value: unknown, where: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  const members = value ?? {};
  if (!isPlainObject(members)) {
    throw new ConfigurationError(where, "is not an object.", "Write it as { name: value }.");
  }
  for (const name of Object.keys(members)) {
    if (known.includes(name)) continue;
    throw new ConfigurationError(`${where}.${name}`, "is not a known setting.", suggestion(name, known));
  }
  return members;
}

function verificationExpires(value: unknown): number {
  const minutes = value ?? DEFAULT_EXPIRATION;
  if (Number.isInteger(minutes) && (minutes as number) >= 1 && (minutes as number) <= MINUTES_OF_A_YEAR) {
    return minutes as number;
  }
  const problem = `is not a whole number of minutes from 1 to ${MINUTES_OF_A_YEAR}.`;
  throw new ConfigurationError(`${WHERE}.verificationExpires`, problem, `Leave it out for ${DEFAULT_EXPIRATION}.`);
}

function mailables(value: unknown): AccountMailables {
  const where = `${WHERE}.mailables`;
  const members = membersOf(value, where, MAILS);
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
