import type { CommandContext } from "../../boot/index.ts";
import { AshlarError } from "../../support/index.ts";
import { closesAtOf } from "../users/authenticatable.ts";
import { summaryOf } from "./account-summary.ts";
import { confirm, printResult, readDeskArguments, tellDeed } from "./desk-arguments.ts";
import { findAccount, labelOf, storedAccount } from "./find-accounts.ts";

/** `users:close`: closes an account, which is removed after `ACCOUNTS.closing.graceDays` unless its owner logs in before. */
export async function run(context: CommandContext): Promise<void> {
  const read = readDeskArguments(context, "users:close <user> [--yes] [--reason <text>]", ["reason", "yes"]);
  const application = await context.application();
  const account = await findAccount(application, read.positionals[0]!, read.guard);
  const { guard, user } = account;
  const [label, id] = [labelOf(user), String(user.authId())];
  const before = closesAtOf(user);
  if (before !== null)
    throw new AshlarError("E_COMMAND", `The account of ${label} was closed before. ${until(before)}`);
  const { closing, settings } = application.container.make("accounts");
  const { graceDays, removal } = settings.closing;
  const verb = removal === "delete" ? "deletes" : "anonymizes";
  // Nothing can undo it then.
  if (graceDays === 0) await confirm(read, `This ${verb} the account of ${label} (${id}, ${guard}) at once, for good.`);
  const reason = read.values.reason ?? null;
  const closesAt = await closing.close(guard, user, "none", { by: read.by, reason, address: null });
  if (closesAt === null) throw new AshlarError("E_COMMAND", "The account no longer exists.");
  await tellDeed(application, { command: "users:close", by: read.by, guard, user, reason });
  const now = (await storedAccount(application, account)) ?? account;
  const lines = [
    `The account of ${label} is closed. All access to it has ended.`,
    graceDays === 0
      ? "Its grace period is 0 days, so it has been removed, unless the log has an error."
      : `${until(closesAt)} To reopen it yourself: npx ashlar users:reopen ${id}`,
  ];
  printResult(context, read.isJson, { ...summaryOf(now), closesAt }, lines);
}

function until(closesAt: Date): string {
  return `It is removed on ${closesAt.toISOString()}, unless its owner logs in before.`;
}
