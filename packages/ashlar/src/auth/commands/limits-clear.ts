import type { Application, CommandContext } from "../../boot/index.ts";
import { canonicalAddress } from "../../http/index.ts";
import { AshlarError, counted } from "../../support/index.ts";
import type { Throttle, ThrottleKeys } from "../../throttle/index.ts";
import { countedKeysOf } from "../accounts/users/counted-accounts.ts";
import { type DeskArguments, printResult, readDeskArguments, shown, tellDeed } from "./desk-arguments.ts";
import { type FoundAccount, findAccount, labelOf } from "./find-accounts.ts";

const USAGE = "limits:clear [<user>] [--address <ip>] [--limit <name>]";

/**
 * `limits:clear`: forgets what was counted for an account, for an address, or for both, under all limits or one; or for
 * everyone under one limit.
 */
export async function run(context: CommandContext): Promise<void> {
  const read = readDeskArguments(context, USAGE, ["address", "limit"], [0, 1]);
  const address = addressOf(read);
  const limit = read.values.limit ?? null;
  const isOfAll = read.positionals.length === 0 && address === null;
  if (isOfAll && limit === null) {
    throw new AshlarError("E_COMMAND", `Name an account, an address, or a limit. Usage: ${USAGE}`);
  }
  const application = await context.application();
  const throttle = throttleOf(application);
  if (isOfAll && limit !== null) {
    const cleared = await forgetLimit(throttle, limit);
    await tellDeed(application, { command: "limits:clear", by: read.by, guard: null, user: null, limit, cleared });
    const result = { guard: null, id: null, address, limit, cleared };
    printResult(context, read.isJson, result, [saidOfAll(limit, cleared)]);
    return;
  }
  const [text] = read.positionals;
  const account = text === undefined ? null : await findAccount(application, text, read.guard);
  const cleared = await throttle.counts.forget(keysFor(application, account, address), limit);
  const [guard, user] = [account?.guard ?? null, account?.user ?? null];
  const deed = { command: "limits:clear", by: read.by, guard, user, limit, clientAddress: address, cleared };
  await tellDeed(application, deed);
  const lines = saidOf(user, address, limit, cleared);
  const id = user === null ? null : String(user.authId());
  printResult(context, read.isJson, { guard, id, address, limit, cleared }, lines);
}

function saidOfAll(limit: string, cleared: number | null): string {
  const count = cleared === null ? "" : `: ${counted(cleared, "count")}`;
  return `Everything that was counted under ${limit} is forgotten, for all accounts and addresses${count}.`;
}

function saidOf(
  user: FoundAccount["user"] | null,
  address: string | null,
  limit: string | null,
  cleared: number,
): string[] {
  const about = [...(user === null ? [] : [`the account of ${labelOf(user)}`]), ...(address === null ? [] : [address])];
  const under = limit === null ? "" : ` under ${limit}`;
  const line = `What was counted for ${about.join(" and ")}${under} is forgotten: ${counted(cleared, "count")}.`;
  if (address !== null) return [line];
  return [line, "What the account and an address were counted together stays: add --address to forget that, too."];
}

/** The client's address of `--address`; `null` without it. */
export function addressOf({ values }: DeskArguments): string | null {
  if (values.address === undefined) return null;
  const address = canonicalAddress(values.address);
  if (address === null) throw new AshlarError("E_COMMAND", `"${shown(values.address)}" is not an IP address.`);
  return address;
}

async function forgetLimit(throttle: Throttle, limit: string): Promise<number | null> {
  const { isDone, cleared } = await throttle.counts.forgetLimit(limit);
  if (isDone) return cleared;
  const remedy = "Name an account or an address, or add the method clear to the store.";
  throw new AshlarError("E_COMMAND", `The store of limits can't forget a whole limit. ${remedy}`);
}

function throttleOf({ container }: Application) {
  if (!container.has("throttle")) throw new AshlarError("E_COMMAND", "The application has no limits.");
  const throttle = container.make("throttle");
  if (throttle.store.isLocal !== true) return throttle;
  const remedy = "Restart it, or let limits count in the database: store: databaseStore().";
  throw new AshlarError(
    "E_COMMAND",
    `Limits are counted in the memory of the server, which a command can't reach. ${remedy}`,
  );
}

function keysFor(
  application: Application,
  account: FoundAccount | null,
  address: string | null,
): readonly ThrottleKeys[] {
  if (account === null) return [{ address }];
  const keys = countedKeysOf(application.container.make("auth"), account.guard, account.user);
  if (address === null) return keys;
  // These are the counts by account alone, by both, and by address alone.
  return [...keys, ...keys.map((one) => ({ ...one, address })), { address }];
}
