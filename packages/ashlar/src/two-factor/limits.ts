import type { ByLimit, LimitDeclaration } from "../throttle/index.ts";

declare module "../throttle/limit-name.ts" {
  interface FrameworkLimits {
    two_factor: true;
    "two_factor.recovery": true;
    "two_factor.unlock": true;
  }
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** The changes of a user's second factor. Each is mailed to the owner. */
const CHANGE_LIMIT = "two_factor";
/** Proofs that have too many bits to be guessed: only counted for each address, so no one can use up the owner's attempts. */
export const RECOVERY_LIMIT = "two_factor.recovery";
/** The same for three codes in a row. */
export const UNLOCK_LIMIT = "two_factor.unlock";

export const TWO_FACTOR_LIMITS: ByLimit<LimitDeclaration> = {
  [CHANGE_LIMIT]: { ofAccounts: true, buckets: [{ by: ["account"], attempts: 30, windowSeconds: HOUR }] },
  [RECOVERY_LIMIT]: {
    ofAccounts: true,
    buckets: [{ by: ["account", "address"], attempts: 10, windowSeconds: 15 * MINUTE }],
  },
  [UNLOCK_LIMIT]: {
    ofAccounts: true,
    buckets: [{ by: ["account", "address"], attempts: 10, windowSeconds: HOUR }],
  },
};
