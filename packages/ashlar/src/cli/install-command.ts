import { Command } from "commander";
import {
  diffOfPlan,
  type Feature,
  type FilledSecrets,
  type Installation,
  planInstallation,
  writeInstallation,
} from "../scaffold/index.ts";
import { describeSecrets } from "./describe-secrets.ts";
import { printRemaining } from "./print-remaining.ts";
import { emphasis, type Terminal } from "./terminal.ts";

interface Options {
  readonly dryRun?: true;
  readonly force?: true;
}

/** A command that puts a feature into the application, and prints what remains to be added by hand. */
export function installCommand(terminal: Terminal, name: string, feature: Feature, description: string): Command {
  const command = new Command(name)
    .description(description)
    .option("--dry-run", "print what would change, and write nothing");
  // The API's own files are never in the way: what is there is the author's.
  if (feature === "pages") command.option("--force", "write over files that are in the way");
  return command.action(async ({ dryRun, force }: Options) => {
    const plan = await planInstallation(terminal.root, feature);
    if (dryRun) printDiff(terminal, plan);
    else printWritten(terminal, plan, await writeInstallation(terminal.root, plan, force ?? false));
    printRemaining(terminal, plan.remaining);
  });
}

function printDiff(terminal: Terminal, plan: Installation): void {
  // Its text has the secrets in it.
  if (plan.environment !== null) terminal.print("Variables would be added to .env.");
  else if (plan.files.length === 0) terminal.print("Everything is there; nothing would be changed.");
  for (const line of diffOfPlan(plan)) {
    terminal.print(
      line.startsWith("+") ? emphasis(line, "green") : line.startsWith("-") ? emphasis(line, "red") : line,
    );
  }
}

function printWritten(terminal: Terminal, plan: Installation, secrets: FilledSecrets): void {
  for (const { path, before } of plan.files) terminal.print(`${before === null ? "Made" : "Changed"} ${path}`);
  if (plan.environment !== null) terminal.print("Changed .env");
  const made = describeSecrets(secrets);
  if (made !== null) terminal.print(made);
  const isDone = plan.files.length === 0 && plan.environment === null && made === null;
  if (isDone) terminal.print("Everything is there; nothing was changed.");
  if (plan.files.some(({ path }) => path.startsWith("database/"))) terminal.print("Run it: npx ashlar migrate");
}
