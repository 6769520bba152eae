import type { LimitDeclaration } from "../throttle/index.ts";

declare module "../throttle/limit-name.ts" {
  interface FrameworkLimits {
    login: true;
    "login.step": true;
  }
}

const MINUTE = 60;

/**
 * The limit of everything that tries a password: the login page, the token endpoint, and pages that ask for the
 * password again.
 */
export const PASSWORD_LIMIT = "login";

/** The limit on the proofs that login steps ask for, such as codes. */
export const STEP_LIMIT = "login.step";

/** Both count failures: a success gives back what the account used up. */
export const LOGIN_LIMITS: Readonly<Record<typeof PASSWORD_LIMIT | typeof STEP_LIMIT, LimitDeclaration>> = {
  // By address alone, it leaves enough room for an office.
  [PASSWORD_LIMIT]: {
    ofAccounts: true,
    account: "email",
    buckets: [
      { by: ["account", "address"], attempts: 5, windowSeconds: 5 * MINUTE },
      { by: ["address"], attempts: 100, windowSeconds: 15 * MINUTE },
    ],
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
};
