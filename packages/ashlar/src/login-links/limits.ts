import type { ByLimit, LimitDeclaration } from "../throttle/index.ts";

declare module "../throttle/limit-name.ts" {
  interface FrameworkLimits {
    login_links: true;
    "login_links.code": true;
    "login_links.use": true;
  }
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** The limit of mails with a link and a code. */
export const MAIL_LIMIT = "login_links";
/** The limit of wrong codes, besides the account's limit of wrong passwords. */
export const CODE_LIMIT = "login_links.code";
/** The limit under which each request for a mail is used once. */
export const USE_LIMIT = "login_links.use";

export const LOGIN_LINK_LIMITS: ByLimit<LimitDeclaration> = {
  // Each is a mail. A mailbox can be flooded from many addresses as easily as from one.
  [MAIL_LIMIT]: {
    ofAccounts: true,
    account: "email",
    buckets: [
      { by: ["account", "address"], attempts: 5, windowSeconds: HOUR },
      { by: ["address"], attempts: 60, windowSeconds: HOUR },
      { by: ["account"], attempts: 10, windowSeconds: HOUR },
    ],
  },
  // As many as passwords. The account's own limit, which counts both together, is login.account.
  [CODE_LIMIT]: {
    ofAccounts: true,
    buckets: [
      { by: ["account", "address"], attempts: 5, windowSeconds: 5 * MINUTE },
      { by: ["address"], attempts: 100, windowSeconds: 15 * MINUTE },
    ],
  },
  // Each request counts as an account, with one attempt. The window outlasts the request.
  [USE_LIMIT]: { buckets: [{ by: ["account"], attempts: 1, windowSeconds: 20 * MINUTE }] },
};
