import type { LimitDeclaration } from "../throttle/index.ts";

declare module "../throttle/limit-name.ts" {
  interface FrameworkLimits {
    login: true;
  }
}

const MINUTE = 60;

/** The limit of everything that tries a password: the login page, the token endpoint, and what asks for the password again. */
export const PASSWORD_LIMIT = "login";

/** It counts failures: a success gives back what the account used up. By address alone it is wide enough for an office. */
export const PASSWORD_LIMITS: Readonly<Record<typeof PASSWORD_LIMIT, LimitDeclaration>> = {
  [PASSWORD_LIMIT]: {
    ofAccounts: true,
    account: "email",
    buckets: [
      { by: ["account", "address"], attempts: 5, windowSeconds: 5 * MINUTE },
      { by: ["address"], attempts: 100, windowSeconds: 15 * MINUTE },
    ],
  },
};
