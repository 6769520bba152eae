import type { CommandContext } from "../../boot/index.ts";
import { AshlarError, currentDate, type RegisteredUser } from "../../support/index.ts";
import { isVerifiable } from "../users/authenticatable.ts";
import { summaryOf } from "./account-summary.ts";
import { printResult, readDeskArguments, shown, tellDeed } from "./desk-arguments.ts";
import { findAccount, labelOf } from "./find-accounts.ts";

/** `users:verify`: marks the address of an account as verified, for someone who has proved it in another way. */
export async function run(context: CommandContext): Promise<void> {
  const read = readDeskArguments(context, "users:verify <user> [--reason <text>]", ["reason"]);
  const application = await context.application();
  const { guard, user } = await findAccount(application, read.positionals[0]!, read.guard);
  const label = labelOf(user);
  const { email } = user;
  if (!isVerifiable(user)) throw new AshlarError("E_COMMAND", `Users of the guard "${guard}" don't verify addresses.`);
  if (email === null || email === "") throw new AshlarError("E_COMMAND", `The account of ${label} has no address.`);
  if (user.hasVerifiedEmail()) throw new AshlarError("E_COMMAND", `${shown(email)} is verified already.`);
  const { users } = application.container.make("accounts");
  // Only verifies the address that was shown, because it may have changed since.
  const changed = await users.of(guard).update(user, { verifiedAt: currentDate() }, { email, verifiedAt: null });
  if (changed === null)
    throw new AshlarError("E_COMMAND", "The account has changed in the meantime. Look at it again.");
  const told = { time: currentDate(), address: null, guard, user: changed as RegisteredUser };
  const { container } = application;
  if (container.has("events")) await container.make("events").emit("auth.email_verified", told);
  const reason = read.values.reason ?? null;
  await tellDeed(application, { command: "users:verify", by: read.by, guard, user: changed, reason });
  printResult(context, read.isJson, summaryOf({ guard, user: changed }), [`${shown(email)} is verified.`]);
}
