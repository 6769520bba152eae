import { declareFeature, type Feature } from "../boot/index.ts";
import { MAIL_ERRORS } from "./errors.ts";
import { OUTBOX } from "./outbox/outbox-seal.ts";
import { MAIL_OUTBOX_TABLE } from "./outbox/outbox-table.ts";

/** Mails. */
export const MAIL: Feature = declareFeature({
  name: "mail",
  errors: MAIL_ERRORS,
  messages: { english: {}, translations: { de: () => import("./messages.de.ts") } },
  context: { mail: (_context, { container }) => container.make("mail") },
  events: { "mail.sent": { audit: false }, "mail.failed": { audit: false } },
  tables: {
    [MAIL_OUTBOX_TABLE]: {
      columns: [
        ...["id", "kind", "mailable", "content", "claim", "attempts", "created_at", "available_at", "retry_until"],
        ...["failed_at", "reason", "priority"],
      ],
      pruned: "mails that could not be sent",
      installedBy: "mail:install",
    },
  },
  keyPurposes: [OUTBOX],
  variables: {
    MAIL_FROM: { about: ["Mail is sent by SMTP in production; in development it is shown at /dev/mailbox."] },
    SMTP_HOST: {},
    SMTP_PORT: { value: "587" },
    SMTP_USER: {},
    SMTP_PASSWORD: { isSecret: true },
  },
  commands: [
    {
      name: "mail:install",
      description: "Adds the migrations of the table that mails wait in until they are sent, and of its priorities.",
      load: () => import("./commands/mail-install.ts"),
    },
    {
      name: "mail:failed",
      description: "Lists the mails that could not be sent.",
      load: () => import("./commands/mail-failed.ts"),
    },
    {
      name: "mail:retry",
      description:
        "Sends mails again that could not be sent: mail:retry 12 15, or mail:retry --all; or now: mail:retry --waiting.",
      help:
        "  [numbers...]  those that mail:failed shows\n  --all  sends all of them again\n" +
        "  --waiting  sends those now that wait for their next attempt",
      load: () => import("./commands/mail-retry.ts"),
    },
    {
      name: "mail:discard",
      description: "Deletes the mails that wait, unsent, after a backup was restored: mail:discard --waiting --yes.",
      help: "  --waiting  all that wait, those that are tried again included\n  --yes      doesn't ask",
      load: () => import("./commands/mail-discard.ts"),
    },
    {
      name: "mail:work",
      description: "Sends the mails that wait in the outbox, in a separate process, until it is stopped.",
      load: () => import("./commands/mail-work.ts"),
    },
  ],
  checks: [
    {
      name: "Mail",
      findings: {
        "mail.sender": "MAIL_FROM is not set, or SMTP_HOST.",
        "mail.outbox": "The table in which mails wait is missing.",
        "mail.priority": "The table in which mails wait has no column for their priority.",
        "mail.key": "Mails in the outbox were sealed with a key that the application no longer has.",
        "mail.server": "Mails can't be delivered.",
      },
      seconds: 20,
      load: () => import("./check-mails.ts"),
    },
  ],
});
