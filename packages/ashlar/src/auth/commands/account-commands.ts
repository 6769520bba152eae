import type { FeatureCommand } from "../../boot/index.ts";

const USER = "  <user>            a primary key, an address, or the name that the user logs in with";
const GUARD = "  --guard <name>    whose user it is, if several guards have different users";
const BY =
  "  --by <name>       who runs the command, for the audit line; default: the user of the system and the machine";
const REASON = "  --reason <text>   why, for the audit line";
const JSON_OPTION = "  --json            prints one JSON document, and the log to standard error";
const YES = "  --yes             doesn't ask";

function helpOf(...own: readonly string[]): string {
  return [...own, GUARD, BY, JSON_OPTION].join("\n");
}

/** The commands about accounts, for the person on call. */
export const ACCOUNT_COMMANDS: readonly FeatureCommand[] = [
  {
    name: "users:find",
    description: "Finds accounts by primary key, address or name, or by a part of one.",
    help: helpOf("  <text>            what to look for"),
    load: () => import("./users-find.ts"),
  },
  {
    name: "users:show",
    description: "Shows the state of an account, why it is refused, its logins, and what is stored about it.",
    help: helpOf(USER, "  --address <ip>    the client's address, for limits that count by it"),
    load: () => import("./users-show.ts"),
  },
  {
    name: "users:logout",
    description: "Ends all access to an account: logins, links in mails and API tokens.",
    help: helpOf(USER, REASON),
    load: () => import("./users-logout.ts"),
  },
  {
    name: "users:void-password",
    description: "Makes the password of an account invalid and ends all access to it, until its owner sets a new one.",
    help: helpOf(USER, REASON),
    load: () => import("./users-void-password.ts"),
  },
  {
    name: "users:block",
    description: "Blocks an account and ends all access to it, until it is unblocked.",
    help: helpOf(USER, REASON),
    load: async () => ({ run: (await import("./set-blocked.ts")).block }),
  },
  {
    name: "users:unblock",
    description: "Unblocks an account.",
    help: helpOf(USER, REASON),
    load: async () => ({ run: (await import("./set-blocked.ts")).unblock }),
  },
  {
    name: "users:close",
    description: "Closes an account, as its owner would: a login reopens it until it is removed.",
    help: helpOf(USER, REASON, YES),
    load: () => import("./users-close.ts"),
  },
  {
    name: "users:reopen",
    description: "Reopens an account that was closed and is not removed yet.",
    help: helpOf(USER, REASON),
    load: () => import("./users-reopen.ts"),
  },
  {
    name: "users:verify",
    description: "Marks the address of an account as verified.",
    help: helpOf(USER, REASON),
    load: () => import("./users-verify.ts"),
  },
  {
    name: "users:export",
    description: "Writes what is stored about a user as JSON.",
    help: helpOf(USER, "  --out <file>      a new file, instead of standard output", REASON),
    load: () => import("./users-export.ts"),
  },
  {
    name: "users:erase",
    description: "Deletes an account and everything that is stored about it.",
    help: helpOf(USER, REASON, YES),
    load: () => import("./users-erase.ts"),
  },
  {
    name: "limits:clear",
    description:
      "Forgets what was counted for an account or an address, or everything under one limit, so that it lets them in again.",
    help: helpOf(
      "  [user]            a primary key, an address, or the name that the user logs in with",
      "  --address <ip>    the client's address; with a user, also what was counted for both together",
      "  --limit <name>    only under this limit, such as login; without a user and an address, all of it",
    ),
    load: () => import("./limits-clear.ts"),
  },
  {
    name: "mail:resend",
    description: "Mails a user a new link: to verify the address, or to set a password.",
    help: helpOf(USER, "  --mail <name>     verifyEmail or resetPassword; default: what the account waits for", REASON),
    load: () => import("./mail-resend.ts"),
  },
  {
    name: "access:end-all",
    description: "Ends all access to all accounts, after a leak or a restore: logins, links in mails and tokens.",
    help: helpOf(
      "  --void-passwords  also makes their passwords invalid, until their owners set new ones",
      REASON,
      YES,
    ),
    load: () => import("./access-end-all.ts"),
  },
];
