import type { Application, CheckContext } from "../boot/index.ts";
import { type Connection, columnsOf } from "../database/index.ts";
import { counted, isPlainObject, limited, reasonOf } from "../support/index.ts";
import { countLost, lostKey } from "./outbox/lost-key.ts";
import { OutboxSeal } from "./outbox/outbox-seal.ts";
import { MAIL_OUTBOX_TABLE } from "./outbox/outbox-table.ts";

const FILE = "config/mail.ts";
/** How long the server may take to respond, in seconds. */
const SECONDS = 8;
const INSTALL = "npx ashlar mail:install && npx ashlar migrate";

/** Checks whether mails can be sent: the sender's settings, the server, and the table that mails wait in. */
export async function run(context: CheckContext): Promise<void> {
  checkSettings(context);
  await context.database((database) => checkOutbox(context, database.connection()));
  await checkServer(context, context.application());
}

/** Checks the sender, so that a missing one is reported before it fails startup in production. */
function checkSettings({ error, isProduction, settings }: CheckContext): void {
  const mail = settings("mail", "MAIL");
  if (!isProduction || mail === null) return;
  const { from, smtp, transport = "smtp" } = mail;
  const needs = (name: string, line: string): void => {
    const problem = `${name} is not set, and production needs it to send mails.`;
    error("mail.sender", { file: ".env", problem, lines: [line], note: "Write your own." });
  };
  if (!(isPlainObject(from) && from.address)) needs("MAIL_FROM", "MAIL_FROM=no-reply@shop.example");
  if (transport === "smtp" && !(isPlainObject(smtp) && smtp.host)) needs("SMTP_HOST", "SMTP_HOST=smtp.shop.example");
}

async function checkServer({ error }: CheckContext, { container }: Application): Promise<void> {
  try {
    await limited(SECONDS, "The mail server", () => container.make("mail").check());
  } catch (thrown) {
    const problem = `Mails can't be delivered: ${replyFreeReason(thrown)}`;
    const note =
      "Correct SMTP_HOST, SMTP_PORT, SMTP_USER and SMTP_PASSWORD, which config/mail.ts reads, or start the server.";
    error("mail.server", { file: FILE, problem, note });
  }
}

/** The reason, without the server's reply, which may contain the password. */
function replyFreeReason(thrown: unknown): string {
  const { response } = Object(thrown) as { readonly response?: unknown };
  if (!(thrown instanceof Error) || typeof response !== "string" || response === "") return reasonOf(thrown);
  const code = /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3}\b)?/.exec(response)?.[0] ?? "a reply without a code";
  return reasonOf(new Error(thrown.message.replaceAll(response, () => code)));
}

/**
 * Checks the table in which mails wait. Mails in memory are lost with the process, mails without a priority wait for
 * all mails before them, and mails that were sealed with a lost key are never sent.
 */
async function checkOutbox(context: CheckContext, connection: Connection): Promise<void> {
  const { settings, warning } = context;
  const { outbox } = settings("mail", "MAIL") ?? {};
  if (isPlainObject(outbox) && outbox.enabled === false) return;
  const columns = await columnsOf(connection, MAIL_OUTBOX_TABLE);
  if (columns.size === 0) {
    const problem = `The database has no table ${MAIL_OUTBOX_TABLE}, so a crash or an outage of the mail server loses mails.`;
    return warning("mail.outbox", { problem, run: INSTALL });
  }
  if (!columns.has("priority")) {
    const problem = `The table ${MAIL_OUTBOX_TABLE} has no column priority, so a reset link waits behind a newsletter's mails.`;
    warning("mail.priority", { problem, run: INSTALL });
  }
  const { key, previousKeys } = context.application().settings;
  const lost = await countLost(connection, new OutboxSeal(key, { previousSecrets: previousKeys }));
  if (lost === 0) return;
  const problem = `${counted(lost, "mail")} in the outbox can't be opened: ${lostKey(lost)}.`;
  const note =
    "Add the former APP_KEY to APP_PREVIOUS_KEYS in .env, reload the servers, and run npx ashlar mail:retry --all. If it is gone " +
    "for good, so are these mails: they are abandoned after a day, and deleted later.";
  warning("mail.key", { problem, note });
}
