import type { CommandContext } from "../../boot/index.ts";
import { counted } from "../../support/index.ts";
import { endAccessToAll, requireEndable } from "../accounts/all-access.ts";
import { confirm, printResult, readDeskArguments, tellDeed } from "./desk-arguments.ts";
import { usersOf } from "./find-accounts.ts";

/** What the database can't end. */
const BESIDES = [
  "What this doesn't end:",
  "- API tokens that aren't checked in the database (authenticates: false) are valid until they expire. Replace JWT_SECRET to end them.",
  "- If APP_KEY or JWT_SECRET may have leaked, replace them: npx ashlar key:generate --rotate keeps the old APP_KEY in APP_PREVIOUS_KEYS; take it out.",
  "- Passwords. If hashes may have leaked, or a backup was restored, ask users to set new ones.",
  "- Links that undo a change of address, which belong to the owner of the old one, end after 72 hours.",
  "- Credentials of others: of the database, of the mail server, of identity providers.",
];

/** `access:end-all`: ends all access to all accounts, after a leak or a restore: logins, links in mails, tokens. */
export async function run(context: CommandContext): Promise<void> {
  const usage = "access:end-all [--yes] [--guard <name>] [--reason <text>]";
  const read = readDeskArguments(context, usage, ["reason", "yes"], [0, 0]);
  const application = await context.application();
  const all = usersOf(application, read.guard);
  const guards = all.map(({ guard }) => guard).join(", ");
  await confirm(read, `This logs out every user of ${guards}, and ends all their links and tokens.`);
  await requireEndable(all);
  const ended: Record<string, number> = {};
  for (const one of all) ended[one.guard] = await endAccessToAll(one);
  const reason = read.values.reason ?? null;
  await tellDeed(application, { command: "access:end-all", by: read.by, guard: read.guard, user: null, reason });
  const lines = Object.entries(ended).map(
    ([guard, count]) => `${guard}: access to ${counted(count, "account")} has ended.`,
  );
  printResult(context, read.isJson, { ended, besides: BESIDES.slice(1) }, [...lines, ...BESIDES]);
}
