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
 * The limit of mails about logins on new devices, by recipient. It refuses no login; mails over the limit are dropped.
 */
export const NEW_DEVICE_LIMIT = "new_device";

/** The limit of mails that notify owners of accounts that unknown devices have used up their guesses, by recipient. */
export const GUESSES_LIMIT = "guesses";

/** The limit of looks by refused guesses whether that mail is still to be sent, by account. */
export const GUESSES_CHECK_LIMIT = "guesses.check";

/** The limit of uses of a link in such a mail. */
export const DEVICE_LINK_LIMIT = "login.device";

/** The limit that recognizes a client that has just used such a link. */
export const DEVICE_LINK_AGAIN_LIMIT = "login.device.again";

/**
 * The limit of mails that notify the owner of an address that someone tried to use it for another account, by
 * recipient.
 */
export const EMAIL_TAKEN_LIMIT = "email_taken";

/**
 * The limits of operations on accounts. Those that guests can reach count by account and address together, with a low limit,
 * and by address alone, with enough room for an office behind one address.
 *
 * The limit by address alone for `password_reset` counts failures, since a genuine token is counted on its own, not by
 * the address it comes from. Registrations and requests for mail are counted whether they succeed or not, because it is
 * their number that does harm.
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
    // The token names the account; that counts once its signature is verified.
    account: "token",
    buckets: [
      { by: ["account", "address"], attempts: 10, windowSeconds: 15 * MINUTE },
      { by: ["address"], attempts: 30, windowSeconds: 15 * MINUTE },
    ],
  },
  // The page behind the link says whether the link is still valid. It has its own limit, so that it does not use up the
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
  // By account alone: it ends links in mails too, and a thief with a copied cookie, who needs no password here, must not be
  // faster than the owner who resets the password. That ends all other logins as well, so the owner never needs this one.
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
  // The result of a lookup must not show in responses, so it is made whether or not there is an account, and writes a
  // row.
  [GUESSES_CHECK_LIMIT]: {
    buckets: [{ by: ["account"], attempts: 1, windowSeconds: MINUTE }],
  },
  // The account is the link: once within the time it can be used.
  [DEVICE_LINK_LIMIT]: {
    buckets: [{ by: ["account"], attempts: 1, windowSeconds: 24 * HOUR }],
  },
  // The account is the link and the client. Longer than a browser waits for the answer to the first click of a double click.
  [DEVICE_LINK_AGAIN_LIMIT]: {
    buckets: [{ by: ["account"], attempts: 1, windowSeconds: MINUTE }],
  },
};
