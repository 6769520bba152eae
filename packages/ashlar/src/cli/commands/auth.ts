import { Command } from "commander";
import { type AuthPlan, diffOfPlan, planAuth, writeAuth } from "../../scaffold/index.ts";
import { printRemaining } from "../print-remaining.ts";
import { emphasis, type Terminal } from "../terminal.ts";

interface Options {
  readonly dryRun?: true;
  readonly force?: true;
}

/** `auth`: puts the pages of accounts into the application, and prints what remains to be added by hand. */
export function authCommand(terminal: Terminal): Command {
  return new Command("auth")
    .description("Adds login, registration, passwords and verification: controllers, views, mails, migrations, tests.")
    .option("--dry-run", "print what would change, and write nothing")
    .option("--force", "write over files that are in the way")
    .action(async ({ dryRun, force }: Options) => {
      const plan = await planAuth(terminal.root);
      if (dryRun) printDiff(terminal, plan);
      else await write(terminal, plan, force ?? false);
      printRemaining(terminal, plan.remaining);
    });
}

function printDiff(terminal: Terminal, plan: AuthPlan): void {
  if (plan.files.length === 0) terminal.print("Everything is there; nothing would be changed.");
  for (const line of diffOfPlan(plan)) {
    terminal.print(
      line.startsWith("+") ? emphasis(line, "green") : line.startsWith("-") ? emphasis(line, "red") : line,
    );
  }
}

async function write(terminal: Terminal, plan: AuthPlan, force: boolean): Promise<void> {
  await writeAuth(terminal.root, plan, force);
  for (const { path, before } of plan.files) terminal.print(`${before === null ? "Made" : "Changed"} ${path}`);
  if (plan.files.length === 0) terminal.print("Everything is there; nothing was changed.");
  if (plan.files.some(({ path }) => path.startsWith("database/"))) terminal.print("Run it: npx ashlar migrate");
}
