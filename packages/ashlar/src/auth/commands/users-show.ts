import type { Application, CommandContext } from "../../boot/index.ts";
import { deviceName } from "../logins/device-name.ts";
import { subjectOf, summaryOf } from "./account-summary.ts";
import { printResult, readDeskArguments, shown, tellDeed } from "./desk-arguments.ts";
import { type FoundAccount, findAccount } from "./find-accounts.ts";
import { refusalOf } from "./guess-refusal.ts";

/** `users:show`: says what state an account is in, where its user is logged in, and what features store about it. */
export async function run(context: CommandContext): Promise<void> {
  const { by, guard, isJson, positionals } = readDeskArguments(context, "users:show <user>");
  const application = await context.application();
  const account = await findAccount(application, positionals[0]!, guard);
  const shownAccount = await everythingAbout(application, account);
  await tellDeed(application, { command: "users:show", by, guard: account.guard, user: account.user });
  printResult(context, isJson, shownAccount, linesOf(shownAccount));
}

async function everythingAbout(application: Application, account: FoundAccount) {
  const { userData } = application.container.make("accounts");
  const data = await userData.export(subjectOf(application, account));
  const { logins = [], ...rest } = data;
  return {
    ...summaryOf(account),
    // When a password is compared again, if guesses at the account are used up.
    guessesUsedUpForSeconds: await refusalOf(application, account),
    // Rows whose access has ended in another way are left until they are pruned.
    logins: logins.filter((login) => login.is_valid === true),
    stored: Object.fromEntries(Object.entries(rest).map(([name, rows]) => [name, rows.length])),
  };
}

function linesOf(account: Awaited<ReturnType<typeof everythingAbout>>): string[] {
  const { guard, id, name, email, isVerified, createdAt, blockedAt, guessesUsedUpForSeconds: wait } = account;
  const yesOrNo = (is: boolean) => (is ? "yes" : "no");
  const lines = [
    `id        ${id} (${guard})`,
    ...(name === null ? [] : [`name      ${shown(name)}`]),
    `email     ${email === null ? "none" : shown(email)}${isVerified === null ? "" : isVerified ? ", verified" : ", not verified"}`,
    `password  ${yesOrNo(account.hasPassword)}`,
    `blocked   ${account.isBlocked ? (blockedAt === null ? "yes" : `since ${blockedAt.toISOString()}`) : "no"}`,
    ...(account.isClosed ? ["closed    yes"] : []),
    ...(createdAt === null ? [] : [`created   ${createdAt.toISOString()}`]),
    ...(wait === null ? [] : [`guesses   used up for another ${wait} seconds: npx ashlar limits:clear ${id}`]),
    `logins    ${account.logins.length}`,
  ];
  for (const { user_agent: agent, ip, last_used_at: at } of account.logins) {
    const where = ip === null ? "" : `, ${shown(String(ip))}`;
    const device = deviceName(typeof agent === "string" ? agent : null);
    lines.push(`          ${shown(device)}${where}, used ${(at as Date).toISOString()}`);
  }
  for (const [what, count] of Object.entries(account.stored)) lines.push(`${what}: ${count}`);
  return lines;
}
