import type { CommandContext } from "../../boot/index.ts";
import { counted } from "../../support/index.ts";
import { endAccessToAll, requireEndable } from "../accounts/access/all-access.ts";
import { confirm, printResult, readDeskArguments, tellDeed } from "./desk-arguments.ts";
import { usersOf } from "./find-accounts.ts";

/** The credentials that can't be ended in the database. */
const BESIDES = [
  "What this doesn't end:",
  "- API tokens that aren't checked in the database (authenticates: false) are valid until they expire. Replace JWT_SECRET to end them.",
  "- If APP_KEY or JWT_SECRET may have leaked, replace them: npx ashlar key:generate --rotate keeps the old APP_KEY in APP_PREVIOUS_KEYS; take it out.",
  "- Links that undo a change of address, which belong to the owner of the old one, end after 72 hours.",
  "- Credentials of others: of the database, of the mail server, of identity providers.",
];

const PASSWORDS =
  "- Passwords. If hashes may have leaked, or a backup was restored, ask users to set new ones, or run it with --void-passwords.";

/** `access:end-all`: ends all access to all accounts, after a leak or a restore: logins, links in mails, tokens. */
export async function run(context: CommandContext): Promise<void> {
  const usage = "access:end-all [--void-passwords] [--yes] [--guard <name>] [--reason <text>]";
  const read = readDeskArguments(context, usage, ["reason", "void-passwords", "yes"], [0, 0]);
  const application = await context.application();
  const all = usersOf(application, read.guard);
  const guards = all.map(({ guard }) => guard).join(", ");
  const voids = read.voidsPasswords;
  const also = voids ? " Their passwords become invalid: each has to set a new one by mail." : "";
  await confirm(read, `This logs out every user of ${guards}, and ends all their links and tokens.${also}`);
  await requireEndable(all);
  const ended: Record<string, number> = {};
  for (const one of all) ended[one.guard] = await endAccessToAll(one, { voidsPasswords: voids });
  const reason = read.values.reason ?? null;
  await tellDeed(application, { command: "access:end-all", by: read.by, guard: read.guard, user: null, reason });
  const besides = voids ? BESIDES : [...BESIDES, PASSWORDS];
  const lines = Object.entries(ended).map(
    ([guard, count]) => `${guard}: access to ${counted(count, "account")} has ended.`,
  );
  if (voids)
    lines.push(
      "Their passwords are no longer valid. No mail was sent: write to the users that they have to set new ones.",
    );
  const result = { ended, passwordsVoided: voids, besides: besides.slice(1) };
  printResult(context, read.isJson, result, [...lines, ...besides]);
}
