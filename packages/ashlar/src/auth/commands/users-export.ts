import { writeFile } from "node:fs/promises";
import type { Application, CommandContext } from "../../boot/index.ts";
import { AshlarError, currentDate } from "../../support/index.ts";
import { subjectOf } from "./account-summary.ts";
import { plain, readDeskArguments, shown, tellDeed } from "./desk-arguments.ts";
import { type FoundAccount, findAccount, labelOf } from "./find-accounts.ts";
import { waitingMails } from "./waiting-mails.ts";

/** `users:export`: writes all stored data about a user as JSON, to standard output or to a file. */
export async function run(context: CommandContext): Promise<void> {
  const read = readDeskArguments(context, "users:export <user> [--out <file>]", ["out", "reason"]);
  const application = await context.application();
  const account = await findAccount(application, read.positionals[0]!, read.guard);
  const text = JSON.stringify(await exportOf(application, account), plain, 2);
  const { out, reason = null } = read.values;
  if (out === undefined) context.print(text);
  else await writeOut(out, text);
  const { guard, user } = account;
  await tellDeed(application, { command: "users:export", by: read.by, guard, user, reason });
  if (out !== undefined) context.print(`Wrote what is stored about ${labelOf(user)} to ${shown(out)}.`);
}

async function exportOf(application: Application, account: FoundAccount): Promise<object> {
  const subject = subjectOf(application, account);
  const { user, guard } = account;
  const row = (user as { readonly toJSON?: () => unknown }).toJSON?.() ?? { id: user.authId(), email: user.email };
  return {
    exportedAt: currentDate(),
    guard,
    user: row,
    ...(await application.container.make("accounts").userData.export(subject)),
    waiting_mails: await waitingMails(application, subject),
  };
}

async function writeOut(file: string, text: string): Promise<void> {
  try {
    // Personal data: no one else may read it, and nothing is overwritten.
    await writeFile(file, `${text}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const problem = `${shown(file)} could not be written: ${(error as Error).message}`;
    throw new AshlarError("E_COMMAND", problem, { cause: error });
  }
}
