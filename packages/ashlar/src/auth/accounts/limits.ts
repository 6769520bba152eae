import type { ByLimit, LimitDeclaration } from "../../throttle/index.ts";

declare module "../../throttle/limit-name.ts" {
  interface FrameworkLimits {
    register: true;
    password_reset: true;
    "password_reset.show": true;
    change_password: true;
    "email.undo": true;
    "email.resend": true;
    "logins.destroy_others": true;
    new_device: true;
    email_taken: true;
    guesses: true;
    "guesses.check": true;
    "login.device": true;
    "login.device.again": true;
  }
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/**
 * Limits, by recipient, the mails about logins on new devices. It doesn't refuse logins; mails over the limit are
 * dropped.
 */
export const NEW_DEVICE_LIMIT = "new_device";

/** Limits, by recipient, the mails that notify account owners that unknown devices have used up their guesses. */
export const GUESSES_LIMIT = "guesses";

/** Limits, by account, how often refused guesses check whether that mail still has to be sent. */
export const GUESSES_CHECK_LIMIT = "guesses.check";

/** The limit of uses of a link in such a mail. */
export const DEVICE_LINK_LIMIT = "login.device";

/** The limit that recognizes a client that has just used such a link. */
export const DEVICE_LINK_AGAIN_LIMIT = "login.device.again";

/**
 * Limits, by recipient, the mails that notify the owner of an address that someone tried to use it for another account.
 */
export const EMAIL_TAKEN_LIMIT = "email_taken";

/**
 * The limits of operations on accounts. Limits that guests can reach count by account and address together, with a low
 * limit, and by address alone, with enough room for an office behind one address.
 *
 * For `password_reset`, the bucket by address alone counts failures, since genuine tokens have separate counts.
 * Registrations and requests for mails always count, whether they succeed or not, because their sheer number does the
 * harm.
 *
 * If a mail is sent, the account is also counted on its own: a mailbox can be flooded from many addresses as easily as
 * from one. This locks no user out, because the link in the latest mail works no matter who requested it.
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
    // The token names the account, which is used once the signature has been verified.
    account: "token",
    buckets: [
      { by: ["account", "address"], attempts: 10, windowSeconds: 15 * MINUTE },
      { by: ["address"], attempts: 30, windowSeconds: 15 * MINUTE },
    ],
  },
  // The link's page shows whether the link is still valid. It has its own limit, so that viewing it doesn't use up
  // attempts to use the link.
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
  // Counts by account alone. The operation also ends links in mails and needs no password, so a thief with a copied
  // cookie must not outpace the owner who resets the password. The reset ends all other logins too, so the owner
  // doesn't need this operation.
  "logins.destroy_others": {
    ofAccounts: true,
    buckets: [{ by: ["account"], attempts: 5, windowSeconds: 15 * MINUTE }],
  },
  [NEW_DEVICE_LIMIT]: {
    buckets: [{ by: ["account"], attempts: 5, windowSeconds: HOUR }],
  },
  [EMAIL_TAKEN_LIMIT]: {
    buckets: [{ by: ["account"], attempts: 1, windowSeconds: HOUR }],
  },
  [GUESSES_LIMIT]: {
    buckets: [{ by: ["account"], attempts: 1, windowSeconds: 24 * HOUR }],
  },
  // Responses must not reveal the result of the lookup, so it always runs and writes a row, whether or not there is an
  // account.
  [GUESSES_CHECK_LIMIT]: {
    buckets: [{ by: ["account"], attempts: 1, windowSeconds: MINUTE }],
  },
  // The link stands for the account: one use during the time that it is valid.
  [DEVICE_LINK_LIMIT]: {
    buckets: [{ by: ["account"], attempts: 1, windowSeconds: 24 * HOUR }],
  },
  // The link and the client together stand for the account. The window is longer than a browser waits for the response
  // to the first click of a double click.
  [DEVICE_LINK_AGAIN_LIMIT]: {
    buckets: [{ by: ["account"], attempts: 1, windowSeconds: MINUTE }],
  },
};
