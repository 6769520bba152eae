import type { CommandContext } from "../../boot/index.ts";
import { AshlarError } from "../../support/index.ts";
import { isBlocked } from "../users/authenticatable.ts";
import { summaryOf } from "./account-summary.ts";
import { printResult, readDeskArguments, tellDeed } from "./desk-arguments.ts";
import { findAccount, labelOf, storedAccount } from "./find-accounts.ts";

/** `users:block`: blocks an account, which ends all access to it until it is unblocked. */
export function block(context: CommandContext): Promise<void> {
  return setBlocked(context, "block");
}

/** `users:unblock`: unblocks an account. */
export function unblock(context: CommandContext): Promise<void> {
  return setBlocked(context, "unblock");
}

async function setBlocked(context: CommandContext, action: "block" | "unblock"): Promise<void> {
  const command = `users:${action}`;
  const read = readDeskArguments(context, `${command} <user> [--reason <text>]`, ["reason"]);
  const application = await context.application();
  const account = await findAccount(application, read.positionals[0]!, read.guard);
  const { guard, user } = account;
  const was = isBlocked(user);
  const reason = read.values.reason ?? null;
  const { blocks } = application.container.make("accounts");
  if (action === "unblock" && !was)
    throw new AshlarError("E_COMMAND", `The account of ${labelOf(user)} isn't blocked.`);
  if (!(await blocks[action](guard, user, { by: read.by, reason, address: null }))) {
    throw new AshlarError("E_COMMAND", "The account no longer exists.");
  }
  await tellDeed(application, { command, by: read.by, guard, user, reason });
  const label = labelOf(user);
  const line =
    action === "unblock"
      ? `The account of ${label} is no longer blocked. Its user can log in again.`
      : `The account of ${label} is ${was ? "still " : ""}blocked. All access to it has ended.`;
  // A model already has the changes; a store returns a new object.
  const now = await storedAccount(application, account);
  printResult(context, read.isJson, summaryOf(now ?? account), [line]);
}
