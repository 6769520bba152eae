import type { Application, CommandContext } from "../../boot/index.ts";
import { AshlarError } from "../../support/index.ts";
import type { ThrottleKeys } from "../../throttle/index.ts";
import { countedKeysOf } from "../accounts/users/counted-accounts.ts";
import { isModel } from "../users/authenticatable.ts";
import { subjectOf } from "./account-summary.ts";
import { confirm, printResult, readDeskArguments, tellDeed } from "./desk-arguments.ts";
import { type FoundAccount, findAccount, labelOf, storedAccount } from "./find-accounts.ts";
import { outboxOf, outboxOwnerOf } from "./waiting-mails.ts";

/** Data that no command can erase. */
const REMAINS =
  "Not erased: lines in logs, backups, mails that were sent, visitors' sessions until they expire, and what no feature has declared.";

/**
 * `users:erase`: deletes an account with all data that features have declared about it and its waiting mails, in one
 * transaction; then, the counts of attempts at it. From a mail with other recipients, it only removes the user's
 * address.
 */
export async function run(context: CommandContext): Promise<void> {
  const read = readDeskArguments(context, "users:erase <user> [--yes] [--reason <text>]", ["reason", "yes"]);
  const application = await context.application();
  const account = await findAccount(application, read.positionals[0]!, read.guard);
  const { guard, user } = account;
  const label = labelOf(user);
  const id = String(user.authId());
  await confirm(read, `This deletes the account of ${label} (${id}, ${guard}) and everything about it, for good.`);
  const { counted, erased } = await erase(application, account);
  const { container } = application;
  if (container.has("throttle")) await container.make("throttle").counts.forget(counted);
  await tellDeed(application, { command: "users:erase", by: read.by, guard, user, reason: read.values.reason ?? null });
  const rows = Object.entries(erased).map(([what, count]) => `${what}: ${count}`);
  const lines = [`The account of ${label} has been erased.`, ...rows, REMAINS];
  printResult(context, read.isJson, { guard, id, erased }, lines);
}

/** An account that was erased. */
interface Erased {
  /**
   * The users that attempts were counted by: the user as read, and as deleted, if the address has changed in the
   * meantime.
   */
  readonly counted: readonly ThrottleKeys[];
  /** The number of rows, by their subject. */
  readonly erased: Readonly<Record<string, number>>;
}

async function erase(application: Application, account: FoundAccount): Promise<Erased> {
  const { container } = application;
  const { deletion, userData, users } = container.make("accounts");
  const { guard, user } = account;
  const outbox = await outboxOf(application);
  const work = async (): Promise<Erased> => {
    await deletion.lock(user);
    const stored = await storedAccount(application, account);
    if (stored === null) throw gone();
    const subject = subjectOf(application, stored);
    const data = await userData.export(subject);
    const owner = await outboxOwnerOf(application, subject);
    const guards = container.make("auth");
    const counted = [user, stored.user].flatMap((one) => countedKeysOf(guards, guard, one));
    if (!(await deletion.ofGuard(guard, stored.user))) throw gone();
    // Comes last, because nothing more is mailed about a user who no longer exists.
    const mails = (await outbox?.search.remove(owner)) ?? 0;
    const counts = Object.entries(data).map(([what, rows]) => [what, rows.length] as const);
    return { counted, erased: { ...Object.fromEntries(counts), waiting_mails: mails } };
  };
  // Your own store deletes the user in a separate transaction, and doesn't have to support nested ones.
  return isModel(user.constructor) ? users.transaction(guard, work) : container.make("database").transaction(work);
}

function gone(): AshlarError {
  return new AshlarError("E_COMMAND", "The account no longer exists.");
}
