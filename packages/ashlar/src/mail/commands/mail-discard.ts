import type { CommandContext } from "../../boot/index.ts";
import { AshlarError, counted } from "../../support/index.ts";
import { maskedAddress } from "../message/masked-addresses.ts";
import { requireOutbox } from "./require-outbox.ts";

const USAGE = "Usage: mail:discard --waiting --yes";

/**
 * `mail:discard`: deletes waiting mails without sending them. After a backup is restored, they may have been sent
 * already.
 */
export async function run(context: CommandContext): Promise<void> {
  const { args, print } = context;
  if (!args.includes("--waiting") || args.some((arg) => arg !== "--waiting" && arg !== "--yes")) {
    throw new AshlarError("E_COMMAND", USAGE);
  }
  const outbox = await requireOutbox(context);
  const application = await context.application();
  if (!args.includes("--yes")) {
    const { waiting } = await outbox.counts();
    const what = waiting === 1 ? "1 mail that waits" : `${counted(waiting, "mail")} that wait`;
    throw new AshlarError("E_COMMAND", `This deletes ${what}, unsent. Nothing was done. Add --yes to do it.`);
  }
  const { logger } = application;
  const count = await outbox.discard((rows) => {
    for (const { id, kind, mailable, recipients, createdAt } of rows) {
      const mail = { outbox: id, kind, mailable, recipients: recipients?.map(maskedAddress) ?? null };
      logger.info({ ...mail, createdAt: createdAt.toISOString() }, "A waiting mail was deleted, unsent.");
    }
  });
  logger.info({ mails: count }, "Waiting mails were deleted, unsent.");
  print(`${counted(count, "mail")} deleted, unsent.`);
}
