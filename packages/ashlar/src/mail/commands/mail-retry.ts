import type { CommandContext } from "../../boot/index.ts";
import { AshlarError, counted } from "../../support/index.ts";
import { requireOutbox } from "./require-outbox.ts";

const USAGE =
  "Name the mails by the numbers that npx ashlar mail:failed shows, or all of them: --all. --waiting is for those that wait " +
  "for their next attempt.";

/**
 * `mail:retry`: makes abandoned mails due again, or with `--waiting` those that are waiting for their next attempt. A
 * server, or `mail:work`, then sends them.
 */
export async function run(context: CommandContext): Promise<void> {
  const { args, print } = context;
  if (args.length === 1 && args[0] === "--waiting") {
    const count = await (await requireOutbox(context)).hurry();
    return print(`${counted(count, "mail")} will be sent now by the servers, or by npx ashlar mail:work.`);
  }
  const isAll = args.length === 1 && args[0] === "--all";
  if (!isAll && (args.length === 0 || args.some((arg) => !/^\d{1,18}$/.test(arg)))) {
    throw new AshlarError("E_COMMAND", USAGE);
  }
  const outbox = await requireOutbox(context);
  const count = await outbox.retry(isAll ? null : args);
  if (!isAll && count === 0) {
    const what = args.length === 1 ? `No mail with the number ${args[0]}` : "None of these mails";
    throw new AshlarError("E_COMMAND", `${what} was abandoned. npx ashlar mail:failed lists those that were.`);
  }
  print(`${counted(count, "mail")} will be sent again by the servers, or by npx ashlar mail:work.`);
}
