import type { CommandContext } from "../../boot/index.ts";
import { AshlarError } from "../../support/index.ts";
import { summaryOf } from "./account-summary.ts";
import { printResult, readDeskArguments, tellDeed } from "./desk-arguments.ts";
import { findAccount, labelOf } from "./find-accounts.ts";

/** `users:logout`: ends all access to an account: logins, links in mails and API tokens. */
export async function run(context: CommandContext): Promise<void> {
  const read = readDeskArguments(context, "users:logout <user> [--reason <text>]", ["reason"]);
  const application = await context.application();
  const account = await findAccount(application, read.positionals[0]!, read.guard);
  const { guard, user } = account;
  const { access } = application.container.make("accounts");
  if ((await access.end(guard, user, { what: "everything", reason: "command", proof: "none" })) === null) {
    throw new AshlarError("E_COMMAND", "The account no longer exists.");
  }
  await tellDeed(application, {
    command: "users:logout",
    by: read.by,
    guard,
    user,
    reason: read.values.reason ?? null,
  });
  const line = `All access to the account of ${labelOf(user)} has ended: logins, links in mails and API tokens.`;
  printResult(context, read.isJson, summaryOf(account), [line]);
}
