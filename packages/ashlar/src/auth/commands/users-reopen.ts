import type { CommandContext } from "../../boot/index.ts";
import { AshlarError } from "../../support/index.ts";
import { closesAtOf } from "../users/authenticatable.ts";
import { summaryOf } from "./account-summary.ts";
import { printResult, readDeskArguments, tellDeed } from "./desk-arguments.ts";
import { findAccount, labelOf, storedAccount } from "./find-accounts.ts";

/** `users:reopen`: reopens an account that was closed. */
export async function run(context: CommandContext): Promise<void> {
  const read = readDeskArguments(context, "users:reopen <user> [--reason <text>]", ["reason"]);
  const application = await context.application();
  const account = await findAccount(application, read.positionals[0]!, read.guard);
  const { guard, user } = account;
  const label = labelOf(user);
  if (closesAtOf(user) === null) throw new AshlarError("E_COMMAND", `The account of ${label} isn't closed.`);
  const reason = read.values.reason ?? null;
  const { closing } = application.container.make("accounts");
  if (!(await closing.reopen(guard, user, { by: read.by, reason, address: null }))) {
    throw new AshlarError("E_COMMAND", "The account was reopened or removed in the meantime.");
  }
  await tellDeed(application, { command: "users:reopen", by: read.by, guard, user, reason });
  const now = (await storedAccount(application, account)) ?? account;
  printResult(context, read.isJson, summaryOf(now), [
    `The account of ${label} is open again. What was valid before it was closed stays invalid.`,
  ]);
}
