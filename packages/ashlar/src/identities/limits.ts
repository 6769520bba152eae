import type { ByLimit, LimitDeclaration } from "../throttle/index.ts";

declare module "../throttle/limit-name.ts" {
  interface FrameworkLimits {
    identities: true;
    "identities.once": true;
  }
}

const MINUTE = 60;

/** The limit of visitors whom no provider has confirmed. */
export const IDENTITY_LIMIT = "identities";

/** The limit under which each state passes once. */
export const ONCE_LIMIT = "identities.once";

/** Codes can't be guessed: the first limit keeps clients from causing requests to providers. It counts failures. */
export const IDENTITY_LIMITS: ByLimit<LimitDeclaration> = {
  identities: { buckets: [{ by: ["address"], attempts: 60, windowSeconds: 15 * MINUTE }] },
  // Each state counts as an account, with one attempt. The window outlasts the visit.
  "identities.once": { buckets: [{ by: ["account"], attempts: 1, windowSeconds: 20 * MINUTE }] },
};
