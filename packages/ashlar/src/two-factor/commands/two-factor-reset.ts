import { hostname, userInfo } from "node:os";
import { parseArgs } from "node:util";
import { type Authenticatable, asAuthenticatable } from "../../auth/index.ts";
import type { Application, CommandContext } from "../../boot/index.ts";
import { AshlarError, currentDate, type RegisteredUser } from "../../support/index.ts";

const USAGE = "two-factor:reset <user> [--guard <name>] [--by <name>] [--reason <text>]";
const COMMAND = "two-factor:reset";

/** A user, and the guard whose user it is. */
interface Found {
  readonly guard: string;
  readonly user: Authenticatable;
}

/** `two-factor:reset`: removes a user's second factors, and ends all access to the account. */
export async function run({ args, application: boot, print }: CommandContext): Promise<void> {
  const { values, text } = argumentsOf(args);
  const application = await boot();
  const { container } = application;
  const { guard, user } = await found(application, text, values.guard ?? null);
  const service = container.make("twoFactor");
  const hadAny = await service.reset(user);
  const { access } = container.make("accounts");
  await access.end(guard, user, { what: "everything", reason: "command", proof: "none" });
  await tell(application, { guard, user }, values);
  await service.mail(guard, user as object as RegisteredUser, { change: "reset" });
  const had = hadAny ? "Two-factor authentication has been turned off" : "There was no second factor";
  print(`${had} for the user ${user.authId()}. All access to the account has ended.`);
  if (await service.has(user as object as RegisteredUser))
    print("The account has no password, so its passkeys are the only way in, and stay.");
}

function argumentsOf(args: readonly string[]) {
  const options = { guard: { type: "string" }, by: { type: "string" }, reason: { type: "string" } } as const;
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const [text] = positionals;
    if (text !== undefined && positionals.length === 1) return { values, text };
  } catch (error) {
    throw new AshlarError("E_COMMAND", `${(error as Error).message} Usage: ${USAGE}`, { cause: error });
  }
  throw new AshlarError("E_COMMAND", `Usage: ${USAGE}`);
}

/** The user of a primary key, or of what users log in with. */
async function found({ container }: Application, text: string, wanted: string | null): Promise<Found> {
  const guards = container.make("auth");
  const names = wanted === null ? new Set(guards.names.map((name) => guards.rowsOf(name))) : [wanted];
  const all: Found[] = [];
  for (const guard of names) {
    const users = guards.usersOf(guard);
    // Text that can't be a key causes an error in some databases.
    const byKey = await users.findByAuthId(text).catch(() => null);
    const user = byKey ?? (await users.findByIdentifier(text.trim().toLowerCase()));
    if (user !== null) all.push({ guard, user: asAuthenticatable(user) });
  }
  const [one, ...others] = all;
  if (one === undefined)
    throw new AshlarError("E_COMMAND", "There is no such user. Name one by primary key or address.");
  if (others.length === 0) return one;
  const some = all.map(({ guard }) => guard).join(", ");
  throw new AshlarError("E_COMMAND", `Several guards have such a user: ${some}. Name one: --guard ${one.guard}`);
}

/** Announces the command as those about accounts are, with an audit line. */
async function tell(
  { container }: Application,
  { guard, user }: Found,
  { by = caller(), reason = null }: { readonly by?: string | undefined; readonly reason?: string | null | undefined },
): Promise<void> {
  if (!container.has("events")) return;
  const nothing = { identifier: null, found: null, limit: null, clientAddress: null, cleared: null };
  const deed = {
    time: currentDate(),
    address: null,
    command: COMMAND,
    by: oneLine(by),
    reason: reason && oneLine(reason),
  };
  await container.make("events").emit("auth.command", {
    ...nothing,
    ...deed,
    guard,
    user: user as object as RegisteredUser,
  });
}

/** Audit lines hold one line of text. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "?").slice(0, 255);
}

function caller(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // A container may run as a user without a name.
    return `${process.getuid?.() ?? "unknown"}@${hostname()}`;
  }
}
