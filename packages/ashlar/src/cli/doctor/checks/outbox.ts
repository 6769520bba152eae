import { columnsOf, type Database } from "../../../database/index.ts";
import { countLost, lostKey, MAIL_OUTBOX_TABLE, MailProvider, OutboxSeal } from "../../../mail/index.ts";
import { counted } from "../../../support/index.ts";
import { type Finding, warning } from "../finding.ts";
import { appKeyOf, nextKeyOf, previousKeysOf } from "../secrets-of.ts";
import type { Subject } from "../subject.ts";

/**
 * The table in which mails wait: mails in memory are lost with the process, mails without a priority wait for all mails
 * before them, and mails that were sealed with a lost key are never sent.
 */
export async function outboxFindings(subject: Subject, database: Database): Promise<Finding[]> {
  if (!subject.hasProvider(MailProvider)) return [];
  const { outbox } = subject.settings("mail", "MAIL") as { readonly outbox?: { readonly enabled?: unknown } };
  if (outbox?.enabled === false) return [];
  const run = "npx ashlar mail:install && npx ashlar migrate";
  const columns = await columnsOf(database.connection(), MAIL_OUTBOX_TABLE);
  if (columns.size === 0) {
    const problem = `The database has no table ${MAIL_OUTBOX_TABLE}, so a crash or an outage of the mail server loses mails.`;
    return [warning("mail.outbox", { problem, run })];
  }
  const lost = await lostFindings(subject, database);
  if (columns.has("priority")) return lost;
  const problem = `The table ${MAIL_OUTBOX_TABLE} has no column priority, so a reset link waits behind a newsletter's mails.`;
  return [warning("mail.priority", { problem, run }), ...lost];
}

async function lostFindings(subject: Subject, database: Database): Promise<Finding[]> {
  const seal = sealOf(subject);
  const lost = seal === null ? 0 : await countLost(database.connection(), seal);
  if (lost === 0) return [];
  const problem = `${counted(lost, "mail")} in the outbox can't be opened: ${lostKey(lost)}.`;
  const note =
    "Add the former APP_KEY to APP_PREVIOUS_KEYS in .env, reload the servers, and run npx ashlar mail:retry --all. If it is gone " +
    "for good, so are these mails: they are abandoned after a day, and deleted later.";
  return [warning("mail.key", { problem, note })];
}

/** Opens sealed values like the application does; `null` if a key is missing or weak, which is another finding. */
function sealOf(subject: Subject): OutboxSeal | null {
  const previousSecrets = [nextKeyOf(subject), ...previousKeysOf(subject)].filter((key) => key !== "");
  try {
    return new OutboxSeal(appKeyOf(subject), { previousSecrets });
  } catch {
    return null;
  }
}
