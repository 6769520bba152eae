import type { Application, CommandContext } from "../../boot/index.ts";
import { deviceName } from "../logins/devices.ts";
import { subjectOf, summaryOf } from "./account-summary.ts";
import { printResult, readDeskArguments, shown, tellDeed } from "./desk-arguments.ts";
import { type FoundAccount, findAccount } from "./find-accounts.ts";
import { addressOf } from "./limits-clear.ts";
import { type LoginRefusal, loginRefusals } from "./login-refusals.ts";

const WHY: Readonly<Record<LoginRefusal["reason"], string>> = {
  blocked: "the account is blocked",
  closed: "the account is closed",
  no_password: "the account has nothing to log in with",
  not_verified: "the address is not verified (logs in, but not to what asks for that)",
  guesses: "too many wrong passwords from unknown devices",
  address: "too many wrong passwords from this address",
  steps: "too many wrong codes of a login step",
};

/**
 * `users:show`: shows an account's state, why its user is refused, where the user is logged in, and the data that
 * features store about it.
 */
export async function run(context: CommandContext): Promise<void> {
  const read = readDeskArguments(context, "users:show <user> [--address <ip>]", ["address"]);
  const { by, guard, isJson, positionals } = read;
  const address = addressOf(read);
  const application = await context.application();
  const account = await findAccount(application, positionals[0]!, guard);
  const shownAccount = await everythingAbout(application, account, address);
  await tellDeed(application, { command: "users:show", by, guard: account.guard, user: account.user });
  printResult(context, isJson, shownAccount, linesOf(shownAccount));
}

async function everythingAbout(application: Application, account: FoundAccount, address: string | null) {
  const { userData } = application.container.make("accounts");
  const data = await userData.export(subjectOf(application, account));
  const { logins = [], ...rest } = data;
  const refusals = await loginRefusals(application, account, address);
  const { container } = application;
  return {
    ...summaryOf(account),
    methods: (await application.container.make("proofs").ownedBy(account.user)).map(({ name }) => name),
    // When a password can be tried again, if guesses at the account are used up.
    guessesUsedUpForSeconds: refusals.find(({ reason }) => reason === "guesses")?.seconds ?? null,
    refusals,
    // In that case, each server counts in its own memory, which a command can't read.
    countsInMemory: container.has("throttle") && container.make("throttle").store.isLocal === true,
    // Rows whose access has ended in another way are left until they are pruned.
    logins: logins.filter((login) => login.is_valid === true),
    stored: Object.fromEntries(Object.entries(rest).map(([name, rows]) => [name, rows.length])),
  };
}

function linesOf(account: Awaited<ReturnType<typeof everythingAbout>>): string[] {
  const { guard, id, name, email, isVerified, createdAt, blockedAt, closesAt, refusals } = account;
  const lines = [
    `id        ${id} (${guard})`,
    ...(name === null ? [] : [`name      ${shown(name)}`]),
    `email     ${email === null ? "none" : shown(email)}${isVerified === null ? "" : isVerified ? ", verified" : ", not verified"}`,
    `password  ${account.hasPassword ? "yes" : "no"}`,
    `proofs    ${account.methods.length === 0 ? "none" : account.methods.map(shown).join(", ")}`,
    `blocked   ${account.isBlocked ? (blockedAt === null ? "yes" : `since ${blockedAt.toISOString()}`) : "no"}`,
    ...(account.isClosed ? ["closed    yes"] : []),
    ...(closesAt === null ? [] : [`closed    by its owner or users:close; removed on ${closesAt.toISOString()}`]),
    ...(createdAt === null ? [] : [`created   ${createdAt.toISOString()}`]),
    ...refusals.map(({ reason, seconds, remedy }) => {
      const until = seconds === null ? "" : `, for another ${seconds} seconds`;
      return `refused   ${WHY[reason]}${until}${remedy === null ? "" : `: npx ashlar ${remedy}`}`;
    }),
    ...(account.countsInMemory
      ? ["limits    are counted in the memory of each server, where this command can't look"]
      : []),
    `logins    ${account.logins.length}`,
    ...account.logins.map(loginLine),
  ];
  for (const [what, count] of Object.entries(account.stored)) lines.push(`${what}: ${count}`);
  return lines;
}

function loginLine({ user_agent: agent, ip, last_used_at: at }: Readonly<Record<string, unknown>>): string {
  const where = ip === null ? "" : `, ${shown(String(ip))}`;
  const device = deviceName(typeof agent === "string" ? agent : null);
  return `          ${shown(device)}${where}, used ${(at as Date).toISOString()}`;
}
