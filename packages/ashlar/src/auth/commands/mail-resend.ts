import type { Application, CommandContext } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { AshlarError } from "../../support/index.ts";
import { hasPassword } from "../passwords/verify-credentials.ts";
import { awaitsVerification, isBlocked, isClosed } from "../users/authenticatable.ts";
import { printResult, readDeskArguments, shown, tellDeed } from "./desk-arguments.ts";
import { type FoundAccount, findAccount, labelOf } from "./find-accounts.ts";

const USAGE = "mail:resend <user> [--mail verifyEmail|resetPassword]";

/** The mails that can be sent again. Each contains a new link, which the operator never sees. */
type ResentMail = "verifyEmail" | "resetPassword";

/**
 * `mail:resend`: mails a user the link that the account needs next: to verify its address, or to set its first
 * password. The old mail is never sent again, because its link may have been used or have expired.
 */
export async function run(context: CommandContext): Promise<void> {
  const read = readDeskArguments(context, USAGE, ["mail", "reason"]);
  const application = await context.application();
  const account = await findAccount(application, read.positionals[0]!, read.guard);
  const { guard, user } = account;
  const email = addressOf(account);
  const mail = mailFor(account, read.values.mail);
  const { passwordReset } = application.container.make("accounts");
  if (mail === "resetPassword" && !passwordReset.sets(user)) {
    throw new AshlarError("E_COMMAND", "ACCOUNTS.firstPasswordByMail is false, so no link sets a first password.");
  }
  await send(application, account, mail);
  await tellDeed(application, { command: "mail:resend", by: read.by, guard, user, reason: read.values.reason ?? null });
  const what = mail === "verifyEmail" ? "A new link to verify the address" : "A new link to set a password";
  printResult(context, read.isJson, { guard, id: String(user.authId()), mail }, [`${what} goes to ${shown(email)}.`]);
}

function addressOf({ user }: FoundAccount): string {
  const { email } = user;
  if (typeof email !== "string" || email === "") {
    throw new AshlarError("E_COMMAND", `The account of ${labelOf(user)} has no address.`);
  }
  if (isClosed(user)) throw new AshlarError("E_COMMAND", `The account of ${labelOf(user)} is closed.`);
  if (isBlocked(user))
    throw new AshlarError("E_COMMAND", `The account of ${labelOf(user)} is blocked, so no link would work.`);
  return email;
}

function mailFor({ user }: FoundAccount, wanted: string | undefined): ResentMail {
  const isUnverified = awaitsVerification(user);
  if (wanted === "resetPassword") return wanted;
  if (wanted === "verifyEmail" && isUnverified) return wanted;
  if (wanted === "verifyEmail")
    throw new AshlarError("E_COMMAND", `The address of ${labelOf(user)} needs no verification.`);
  if (wanted !== undefined)
    throw new AshlarError("E_COMMAND", `"${shown(wanted)}" can't be sent again. Usage: ${USAGE}`);
  // Setting the first password also verifies the address.
  if (!hasPassword(user)) return "resetPassword";
  if (isUnverified) return "verifyEmail";
  const problem = `The account of ${labelOf(user)} waits for no mail.`;
  throw new AshlarError("E_COMMAND", `${problem} For a new password: --mail resetPassword.`);
}

async function send(application: Application, { guard, user }: FoundAccount, mail: ResentMail): Promise<void> {
  const { emailVerification, mails, passwordReset } = application.container.make("accounts");
  const context: HttpContext = application.serving.contextFor(new Request(application.url));
  context.auth.guard(guard);
  if (mail === "resetPassword") return passwordReset.mailTo(context, user);
  await emailVerification.mail(user, await mails.prepare(), context.request);
}
