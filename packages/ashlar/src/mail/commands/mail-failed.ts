import type { CommandContext } from "../../boot/index.ts";
import { counted } from "../../support/index.ts";
import { recipientsOf } from "../mail-message.ts";
import { requireOutbox } from "./require-outbox.ts";

/** How many are listed. */
const LISTED = 200;

/** `mail:failed`: lists the mails that were given up, oldest first. */
export async function run(context: CommandContext): Promise<void> {
  const { print } = context;
  const outbox = await requireOutbox(context);
  const { failed, waiting } = await outbox.counts();
  for (const { id, kind, mailable, message, failedAt, attempts, reason } of await outbox.failed(LISTED)) {
    const recipients = message === null ? "" : ` to ${recipientsOf(message).join(", ")}`;
    print(`${id}  ${failedAt.toISOString()}  ${mailable ?? kind}${recipients}`);
    print(`    ${counted(attempts, "attempt")}. ${reason}`);
  }
  if (failed > LISTED) print(`… and ${failed - LISTED} more.`);
  if (failed > 0) print();
  print(`${counted(failed, "mail")} could not be sent, ${counted(waiting, "mail")} waiting.`);
  if (failed > 0) print("Send them again: npx ashlar mail:retry <id…>, or npx ashlar mail:retry --all");
}
