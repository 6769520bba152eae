import type { Application, CommandContext } from "../../boot/index.ts";
import { AshlarError } from "../../support/index.ts";
import { countedKeysOf } from "../counted-accounts.ts";
import type { DataSubject } from "../user-data/user-data.ts";
import { subjectOf } from "./account-summary.ts";
import { confirm, printResult, readDeskArguments, tellDeed } from "./desk-arguments.ts";
import { type FoundAccount, findAccount, labelOf } from "./find-accounts.ts";

/** What no command can erase. */
const REMAINS =
  "Not erased: lines in logs, backups, mails that were sent, visitors' sessions until they expire, and what no feature has declared.";

/**
 * `users:erase`: deletes an account with everything that features have declared about it, and the mails to it that wait, in
 * one transaction; then what attempts at it were counted.
 */
export async function run(context: CommandContext): Promise<void> {
  const read = readDeskArguments(context, "users:erase <user> [--yes] [--reason <text>]", ["reason", "yes"]);
  const application = await context.application();
  const account = await findAccount(application, read.positionals[0]!, read.guard);
  const { guard, user } = account;
  const label = labelOf(user);
  const id = String(user.authId());
  await confirm(read, `This deletes the account of ${label} (${id}, ${guard}) and everything about it, for good.`);
  const counted = countedKeysOf(application.container.make("auth"), guard, user);
  const erased = await erase(application, account, subjectOf(application, account));
  if (application.container.has("throttle")) await application.container.make("throttle").forget(counted);
  await tellDeed(application, { command: "users:erase", by: read.by, guard, user, reason: read.values.reason ?? null });
  const rows = Object.entries(erased).map(([what, count]) => `${what}: ${count}`);
  const lines = [`The account of ${label} has been erased.`, ...rows, REMAINS];
  printResult(context, read.isJson, { guard, id, erased }, lines);
}

/** @returns how many rows there were, by what they were about */
async function erase(
  { container }: Application,
  { guard, user }: FoundAccount,
  subject: DataSubject,
): Promise<Readonly<Record<string, number>>> {
  const { deletion, userData, users } = container.make("accounts");
  const outbox = container.has("mail") ? await container.make("mail").outbox() : null;
  return users.transaction(guard, async () => {
    const data = await userData.export(subject);
    if (!(await deletion.ofGuard(guard, user))) throw new AshlarError("E_COMMAND", "The account no longer exists.");
    // Last: nothing more is mailed about a user who no longer exists.
    const mails = subject.email === null ? [] : ((await outbox?.search.about(new Set([subject.email]))) ?? []);
    await outbox?.search.delete(mails.map((mail) => mail.id));
    const counts = Object.entries(data).map(([what, rows]) => [what, rows.length] as const);
    return { ...Object.fromEntries(counts), waiting_mails: mails.length };
  });
}
