import type { CommandContext } from "../../boot/index.ts";
import { AshlarError, counted } from "../../support/index.ts";
import { summaryLine, summaryOf } from "./account-summary.ts";
import { printResult, readDeskArguments, shown, tellDeed } from "./desk-arguments.ts";
import { MAX_FOUND, searchAccounts } from "./find-accounts.ts";

/** `users:find`: lists the accounts that a text identifies, or with the text in their address or name. */
export async function run(context: CommandContext): Promise<void> {
  const { by, guard, isJson, positionals } = readDeskArguments(context, "users:find <text>");
  const application = await context.application();
  const text = positionals[0]!;
  const found = await searchAccounts(application, text, guard);
  const user = found.length === 1 ? found[0]!.user : null;
  await tellDeed(application, { command: "users:find", by, guard, user, identifier: text, found: found.length });
  if (found.length === 0) throw new AshlarError("E_COMMAND", `There is no account "${shown(text)}".`);
  const lines = found.map((one) =>
    one.guard === found[0]!.guard ? summaryLine(one) : `${summaryLine(one)} (${one.guard})`,
  );
  const more = found.length === MAX_FOUND ? ", and maybe more" : "";
  printResult(context, isJson, found.map(summaryOf), [...lines, `${counted(found.length, "account")}${more}.`]);
}
