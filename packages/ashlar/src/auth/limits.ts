import type { LimitDeclaration } from "../throttle/index.ts";

declare module "../throttle/limit-name.ts" {
  interface FrameworkLimits {
    login: true;
  }
}

const MINUTE = 60;

/** The limit of everything that tries a password: the login page, the token endpoint, and what asks for the password again. */
export const PASSWORD_LIMIT = "login";

/** The limit of the proofs that steps of a login ask for, such as codes. */
export const STEP_LIMIT = "login.step";

/** The limit of passwords counts failures: a success gives back what the account used up. By address alone it is wide enough for an office. */
export const LOGIN_LIMITS: Readonly<Record<string, LimitDeclaration>> = {
  [PASSWORD_LIMIT]: {
    ofAccounts: true,
    account: "email",
    buckets: [
      { by: ["account", "address"], attempts: 5, windowSeconds: 5 * MINUTE },
      { by: ["address"], attempts: 100, windowSeconds: 15 * MINUTE },
    ],
  },
  // By account alone: who gets here knows the password, and only a new one ends their attempts. At 20 a day, a code of six
  // digits takes a century to guess.
  [STEP_LIMIT]: {
    ofAccounts: true,
    buckets: [
      { by: ["account"], attempts: 5, windowSeconds: 15 * MINUTE },
      { by: ["account"], attempts: 20, windowSeconds: 24 * 60 * MINUTE },
    ],
  },
};
