import type { ByLimit, LimitDeclaration } from "../throttle/index.ts";

declare module "../throttle/limit-name.ts" {
  interface FrameworkLimits {
    passkeys: true;
    "passkeys.challenge": true;
    "passkeys.register": true;
  }
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** The limit of wrong answers by passkeys. */
export const PASSKEY_LIMIT = "passkeys";

/** Passkeys can't be guessed: these limits keep clients from wasting time with signatures. They count failures. */
export const PASSKEY_LIMITS: ByLimit<LimitDeclaration> = {
  passkeys: {
    buckets: [
      { by: ["account", "address"], attempts: 10, windowSeconds: 5 * MINUTE },
      { by: ["address"], attempts: 100, windowSeconds: 15 * MINUTE },
    ],
  },
  // Each is a mail. A mailbox can be flooded from many addresses as easily as from one.
  "passkeys.register": {
    ofAccounts: true,
    account: "email",
    buckets: [
      { by: ["account", "address"], attempts: 5, windowSeconds: HOUR },
      { by: ["address"], attempts: 60, windowSeconds: HOUR },
      { by: ["account"], attempts: 10, windowSeconds: HOUR },
    ],
  },
  // Each challenge counts as an account, with one attempt. The window outlasts the challenge.
  "passkeys.challenge": { buckets: [{ by: ["account"], attempts: 1, windowSeconds: 10 * MINUTE }] },
};
