import type { LimitDeclaration } from "../throttle/index.ts";

declare module "../throttle/limit-name.ts" {
  interface FrameworkLimits {
    login: true;
    "login.account": true;
    "login.account.slow": true;
    "login.step": true;
    "login.step.total": true;
  }
}

const MINUTE = 60;

/**
 * Limits all attempts at a password: on the login page, at the token endpoint, and on pages that ask for the password
 * again.
 */
export const PASSWORD_LIMIT = "login";

/**
 * The limit of wrong passwords that unknown devices may try at one account, from all addresses together, and at all doors
 * to its password.
 */
export const ACCOUNT_LIMIT = "login.account";

/** The limit of further attempts once that one is used up. */
export const SLOW_LIMIT = "login.account.slow";

/** The limit on attempts at a login step's proofs, such as codes, until access to the account ends. */
export const STEP_LIMIT = "login.step";

/** The limit on these proofs that remains when access to the account ends. */
export const STEP_TOTAL_LIMIT = "login.step.total";

type LoginLimit =
  | typeof PASSWORD_LIMIT
  | typeof ACCOUNT_LIMIT
  | typeof SLOW_LIMIT
  | typeof STEP_LIMIT
  | typeof STEP_TOTAL_LIMIT;

/**
 * All count failures: with the right password, the account gets all its attempts back, and with the right code only
 * that one. If the owner's logins gave back more, a client that has the password could guess codes without limit.
 */
export const LOGIN_LIMITS: Readonly<Record<LoginLimit, LimitDeclaration>> = {
  // The count by address alone is large enough for an office.
  [PASSWORD_LIMIT]: {
    ofAccounts: true,
    account: "email",
    buckets: [
      { by: ["account", "address"], attempts: 5, windowSeconds: 5 * MINUTE },
      { by: ["address"], attempts: 100, windowSeconds: 15 * MINUTE },
    ],
  },
  // A botnet has any number of addresses. Known devices are counted separately, so these guesses can't lock the owner
  // out. At most 344 guesses a day are possible; a limit by address alone would allow each address 1,440.
  [ACCOUNT_LIMIT]: {
    ofAccounts: true,
    knownDevicesApart: true,
    slower: SLOW_LIMIT,
    buckets: [
      { by: ["account"], attempts: 100, windowSeconds: 60 * MINUTE },
      { by: ["account"], attempts: 200, windowSeconds: 24 * 60 * MINUTE },
    ],
  },
  // Only slows down accounts without a mailbox, or with a program as the user.
  [SLOW_LIMIT]: {
    ofAccounts: true,
    buckets: [{ by: ["account"], attempts: 1, windowSeconds: 10 * MINUTE }],
  },
  // By account alone: a client that gets this far has the password, and may have any number of addresses. At 20
  // attempts a day, the chance to guess a six-digit code within a year is 1 in 140.
  [STEP_LIMIT]: {
    ofAccounts: true,
    buckets: [
      { by: ["account"], attempts: 5, windowSeconds: 15 * MINUTE },
      { by: ["account"], attempts: 20, windowSeconds: 24 * 60 * MINUTE },
    ],
  },
  // A client that reads the owner's mails can set any number of new passwords, each with its own attempts.
  [STEP_TOTAL_LIMIT]: {
    ofAccounts: true,
    buckets: [{ by: ["account"], attempts: 40, windowSeconds: 24 * 60 * MINUTE }],
  },
};
