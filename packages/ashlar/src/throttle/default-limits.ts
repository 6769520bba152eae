import type { LimitSettings } from "./settings.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/**
 * The limits on attempts at accounts. Each counts by account and address together, tightly, and by address alone, widely
 * enough for an office behind one address.
 *
 * Where a mail goes out, the account is counted by itself as well: a mailbox is flooded from many addresses as easily as
 * from one. That keeps nobody from an account, for the link in the latest mail works whoever asked for it.
 */
const ACCOUNT_LIMITS: Readonly<Record<string, LimitSettings>> = {
  login: {
    account: "email",
    buckets: [
      { by: ["account", "address"], attempts: 5, windowSeconds: 5 * MINUTE },
      { by: ["address"], attempts: 100, windowSeconds: 15 * MINUTE },
    ],
  },
  "api.auth": {
    account: "username",
    buckets: [
      { by: ["account", "address"], attempts: 5, windowSeconds: 5 * MINUTE },
      { by: ["address"], attempts: 100, windowSeconds: 15 * MINUTE },
    ],
  },
  "api.reauth": {
    // The token to renew stands for the account it was issued to.
    account: "token",
    buckets: [
      { by: ["account", "address"], attempts: 10, windowSeconds: MINUTE },
      { by: ["address"], attempts: 120, windowSeconds: MINUTE },
    ],
  },
  register: {
    account: "email",
    buckets: [
      { by: ["account", "address"], attempts: 10, windowSeconds: HOUR },
      { by: ["address"], attempts: 60, windowSeconds: HOUR },
    ],
  },
  password_reset: {
    account: "token",
    buckets: [
      { by: ["account", "address"], attempts: 10, windowSeconds: 15 * MINUTE },
      { by: ["address"], attempts: 30, windowSeconds: 15 * MINUTE },
    ],
  },
  change_password: {
    account: "email",
    buckets: [
      { by: ["account", "address"], attempts: 5, windowSeconds: 15 * MINUTE },
      { by: ["address"], attempts: 30, windowSeconds: 15 * MINUTE },
      { by: ["account"], attempts: 10, windowSeconds: HOUR },
    ],
  },
  "email.resend": {
    buckets: [
      { by: ["account", "address"], attempts: 5, windowSeconds: 15 * MINUTE },
      { by: ["address"], attempts: 30, windowSeconds: 15 * MINUTE },
      { by: ["account"], attempts: 10, windowSeconds: HOUR },
    ],
  },
};

/** The limits of an application that configures none. */
export const DEFAULT_LIMITS: Readonly<Record<string, LimitSettings>> = {
  ...ACCOUNT_LIMITS,
  api: {
    buckets: [{ by: ["address"], attempts: 300, windowSeconds: MINUTE }],
  },
};

/** Tells whether a limit is about accounts, and so about a guard: whatever its numbers are, its name says so. */
export function isAccountLimit(name: string): boolean {
  return Object.hasOwn(ACCOUNT_LIMITS, name);
}
