import type { ByLimit, LimitDeclaration } from "../../throttle/index.ts";

declare module "../../throttle/limit-name.ts" {
  interface FrameworkLimits {
    register: true;
    password_reset: true;
    "password_reset.show": true;
    change_password: true;
    "email.undo": true;
    "email.resend": true;
    new_device: true;
    email_taken: true;
  }
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** The limit of mails about logins on new devices, by the mailbox they go to. It refuses no login: a mail beyond it is dropped. */
export const NEW_DEVICE_LIMIT = "new_device";

/** The limit of mails that tell the owner of an address that someone wanted it for another account, by the mailbox. */
export const EMAIL_TAKEN_LIMIT = "email_taken";

/**
 * The limits on what is done about accounts. Each counts by account and address together, tightly, and by address alone,
 * widely enough for an office behind one address.
 *
 * What counts by address alone for `password_reset` counts failures, since a genuine token is counted by itself, and not by
 * the address it comes from. Registrations and requests for mail are counted whether they succeed or not: it is their
 * number that does harm.
 *
 * If a mail goes out, the account is counted by itself as well: a mailbox is flooded from many addresses as easily as from
 * one. That keeps no one from an account, for the link in the latest mail works whoever asked for it.
 */
export const ACCOUNT_LIMITS: ByLimit<LimitDeclaration> = {
  register: {
    ofAccounts: true,
    account: "email",
    buckets: [
      { by: ["account", "address"], attempts: 10, windowSeconds: HOUR },
      { by: ["address"], attempts: 60, windowSeconds: HOUR },
    ],
  },
  password_reset: {
    ofAccounts: true,
    // Whose account it is, the token says: what it names counts once its signature is verified.
    account: "token",
    buckets: [
      { by: ["account", "address"], attempts: 10, windowSeconds: 15 * MINUTE },
      { by: ["address"], attempts: 30, windowSeconds: 15 * MINUTE },
    ],
  },
  // The page behind the link says whether the link is still good. Apart from the attempts to use it, which it must not use up.
  "password_reset.show": {
    ofAccounts: true,
    account: "token",
    buckets: [
      { by: ["account", "address"], attempts: 30, windowSeconds: 15 * MINUTE },
      { by: ["address"], attempts: 60, windowSeconds: 15 * MINUTE },
    ],
  },
  change_password: {
    ofAccounts: true,
    account: "email",
    buckets: [
      { by: ["account", "address"], attempts: 5, windowSeconds: 15 * MINUTE },
      { by: ["address"], attempts: 30, windowSeconds: 15 * MINUTE },
      { by: ["account"], attempts: 10, windowSeconds: HOUR },
    ],
  },
  "email.undo": {
    ofAccounts: true,
    buckets: [
      { by: ["account", "address"], attempts: 10, windowSeconds: 15 * MINUTE },
      { by: ["address"], attempts: 30, windowSeconds: 15 * MINUTE },
    ],
  },
  "email.resend": {
    ofAccounts: true,
    buckets: [
      { by: ["account", "address"], attempts: 5, windowSeconds: 15 * MINUTE },
      { by: ["address"], attempts: 30, windowSeconds: 15 * MINUTE },
      { by: ["account"], attempts: 10, windowSeconds: HOUR },
    ],
  },
  [NEW_DEVICE_LIMIT]: {
    buckets: [{ by: ["account"], attempts: 5, windowSeconds: HOUR }],
  },
  [EMAIL_TAKEN_LIMIT]: {
    buckets: [{ by: ["account"], attempts: 1, windowSeconds: HOUR }],
  },
};
