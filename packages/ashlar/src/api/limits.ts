import type { ByLimit, LimitDeclaration } from "../throttle/index.ts";

declare module "../throttle/limit-name.ts" {
  interface FrameworkLimits {
    "api.reauth": true;
    personal_tokens: true;
  }
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/**
 * The limits of the token endpoints, in addition to the limit for passwords. Buckets by address alone count failures.
 * Genuine tokens are counted separately, whatever address they come from.
 */
export const TOKEN_LIMITS: ByLimit<LimitDeclaration> = {
  "api.reauth": {
    ofAccounts: true,
    buckets: [
      { by: ["account", "address"], attempts: 10, windowSeconds: MINUTE },
      { by: ["address"], attempts: 120, windowSeconds: MINUTE },
    ],
  },
  // The owner gets a mail for each new token.
  personal_tokens: {
    ofAccounts: true,
    buckets: [{ by: ["account"], attempts: 30, windowSeconds: HOUR }],
  },
};
