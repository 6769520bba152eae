import { Command } from "commander";
import type { Upgrade } from "../../scaffold/index.ts";
import { AshlarError } from "../../support/index.ts";
import { git } from "../doctor/git.ts";
import { printDiff, printRemaining } from "../install/print-changes.ts";
import { emphasis, type Terminal } from "../terminal.ts";

interface Options {
  readonly write?: true;
  readonly force?: true;
}

const HELP = `
It looks at the application, whatever version it is from: renamed settings and imports, unchanged generated files of an earlier version, and tables whose migrations created an earlier form. Without --write, it prints the difference. It never replaces a file that you have changed; it edits the lines that have to change, or names them. Run it again, and there is nothing left to do.
`;

/** `upgrade`: brings an application from an earlier version to this one. */
export function upgradeCommand(terminal: Terminal): Command {
  return new Command("upgrade")
    .description("Brings the application to this version: settings, generated files, and migrations for its tables.")
    .option("--write", "write the changes; without it, they are printed")
    .option("--force", "even if git has uncommitted changes, or there is no repository")
    .addHelpText("after", HELP)
    .action(async ({ write, force }: Options) => {
      const { planUpgrade, writeUpgrade } = await import("../../scaffold/index.ts");
      const plan = await planUpgrade(terminal.root);
      if (write && plan.files.length > 0) {
        if (!force) await requireClean(terminal.root);
        await writeUpgrade(terminal.root, plan);
        for (const { path, before } of plan.files) terminal.print(`${before === null ? "Created" : "Changed"} ${path}`);
      } else if (plan.files.length > 0) {
        const files = plan.files.map((file) => ({ ...file, isInTheWay: false }));
        await printDiff(terminal, { files, environment: null, remaining: [] });
      }
      printUpgrade(terminal, plan, write === true);
    });
}

function printUpgrade(terminal: Terminal, plan: Upgrade, isWritten: boolean): void {
  const { files, changes, leftovers, own, remaining, notes } = plan;
  const isDone = files.length + leftovers.length + own.length + remaining.length + notes.length === 0;
  if (isDone) {
    terminal.print("This application is up to date; there is nothing to upgrade.");
    return;
  }
  section(terminal, "Changed in this version:", changes);
  section(
    terminal,
    "Look at these places:",
    notes.map(({ place, text }) => `${place}: ${text}`),
  );
  section(
    terminal,
    "Left over from an earlier version:",
    leftovers.map(({ place, text }) => `${place} ${text}`),
  );
  section(
    terminal,
    "Changed by you, or generated with this application's own names, so they stay. Compare them: npx ashlar auth --dry-run",
    own,
  );
  printRemaining(terminal, remaining);
  terminal.print();
  if (files.length === 0) terminal.print("No file has to be changed.");
  else if (!isWritten) terminal.print("Nothing was written. To write this: npx ashlar upgrade --write");
  else if (files.some(({ path }) => path.startsWith("database/")))
    terminal.print("Run the migrations: npx ashlar migrate");
}

function section(terminal: Terminal, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  terminal.print();
  terminal.print(emphasis(title, "bold"));
  for (const line of lines) terminal.print(`  ${line}`);
}

/** The files that updating the framework itself changes. */
const OF_UPDATE = /(?:^|\/)(?:package\.json|package-lock\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lock)$/;

/** @throws `E_COMMAND` unless everything else is committed, so that the upgrade can be reviewed and reverted */
async function requireClean(root: string): Promise<void> {
  const status = await git(root, ["status", "--porcelain", "--", "."]);
  const remedy = "Commit first, so that you can review and revert the upgrade; or add --force.";
  if (status === null || status.code !== 0) {
    throw new AshlarError("E_COMMAND", `There is no git repository here. Nothing was written. ${remedy}`);
  }
  // Each line has two status characters and a space before the path.
  const changed = status.output.split("\n").map((line) => line.slice(3));
  if (changed.some((path) => path !== "" && !OF_UPDATE.test(path))) {
    throw new AshlarError("E_COMMAND", `There are uncommitted changes. Nothing was written. ${remedy}`);
  }
}
