import type { CommandContext } from "../../boot/index.ts";
import { counted } from "../../support/index.ts";
import { recipientsOf } from "../message/mail-message.ts";
import { lostKey } from "../outbox/lost-key.ts";
import { requireOutbox } from "./require-outbox.ts";

/** How many mails are listed. */
const LISTED = 200;

/** `mail:failed`: lists the abandoned mails, oldest first, and counts those that were sealed with a lost key. */
export async function run(context: CommandContext): Promise<void> {
  const { print } = context;
  const outbox = await requireOutbox(context);
  const { failed, waiting } = await outbox.counts();
  for (const { id, kind, mailable, message, failedAt, attempts, reason } of await outbox.failed(LISTED)) {
    const sealed = kind === "mail" ? ", which can't be opened" : "";
    const recipients = message === null ? sealed : ` to ${recipientsOf(message).join(", ")}`;
    print(`${id}  ${failedAt.toISOString()}  ${mailable ?? kind}${recipients}`);
    print(`    ${counted(attempts, "attempt")}. ${reason}`);
  }
  if (failed > LISTED) print(`… and ${failed - LISTED} more.`);
  if (failed > 0) print();
  print(`${counted(failed, "mail")} could not be sent, ${counted(waiting, "mail")} waiting.`);
  const lost = await outbox.lost();
  if (lost > 0) print(`${counted(lost, "mail")} can't be opened: ${lostKey(lost)}.`);
  if (failed > 0) print("Send them again: npx ashlar mail:retry <id…>, or npx ashlar mail:retry --all");
}
