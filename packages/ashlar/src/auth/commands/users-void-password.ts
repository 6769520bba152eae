import type { CommandContext } from "../../boot/index.ts";
import { AshlarError } from "../../support/index.ts";
import { hasPassword } from "../passwords/verify-credentials.ts";
import { isBlocked } from "../users/authenticatable.ts";
import { summaryOf } from "./account-summary.ts";
import { printResult, readDeskArguments, tellDeed } from "./desk-arguments.ts";
import { findAccount, labelOf, storedAccount } from "./find-accounts.ts";

/** `users:void-password`: makes the password of an account invalid, and ends all access to it, until its owner sets a new one. */
export async function run(context: CommandContext): Promise<void> {
  const read = readDeskArguments(context, "users:void-password <user> [--reason <text>]", ["reason"]);
  const application = await context.application();
  const account = await findAccount(application, read.positionals[0]!, read.guard);
  const { guard, user } = account;
  const label = labelOf(user);
  if (!hasPassword(user)) throw new AshlarError("E_COMMAND", `The account of ${label} has no password.`);
  if (!(await application.container.make("accounts").passwordVoiding.make(guard, user))) {
    throw new AshlarError("E_COMMAND", "The account no longer exists.");
  }
  const reason = read.values.reason ?? null;
  await tellDeed(application, { command: "users:void-password", by: read.by, guard, user, reason });
  const now = (await storedAccount(application, account)) ?? account;
  printResult(context, read.isJson, summaryOf(now), [
    `The password of ${label} is no longer valid, and all access to the account has ended. No mail was sent.`,
    remedyFor(String(user.authId()), user.email, isBlocked(now.user)),
  ]);
}

function remedyFor(id: string, email: string | null, isBlocked: boolean): string {
  if (email === null || email === "") return "The account has no address, so its owner can't set a new one by mail.";
  const unblocked = isBlocked ? `, once it is unblocked: npx ashlar users:unblock ${id}, then` : ":";
  return `Its owner sets a new one on the page for a forgotten password, or with a link that you mail${unblocked} npx ashlar mail:resend ${id}`;
}
