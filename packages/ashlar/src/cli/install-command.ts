import { Command, Option } from "commander";
import {
  type Feature,
  type FilledSecrets,
  type Installation,
  planInstallation,
  planMigrations,
  type RemainingStep,
  writeInstallation,
  writeMigrations,
} from "../scaffold/index.ts";
import { apiNamesOf, namesLine } from "./api-names.ts";
import { migrateCommands } from "./commands/migrate.ts";
import { describeSecrets } from "./describe-secrets.ts";
import { emphasis, type Terminal } from "./terminal.ts";

interface Options {
  readonly json?: true;
  readonly dryRun?: true;
  readonly many?: true;
  readonly force?: true;
  readonly migrate?: true;
  readonly migrations?: true;
  readonly printNames?: true;
}

/** A command that adds a feature to the application, and prints what to add by hand. */
export function installCommand(terminal: Terminal, name: string, feature: Feature, description: string): Command {
  const command = new Command(name)
    .description(description)
    .option("--dry-run", "print what would change without writing anything")
    .addOption(new Option("--migrations", "write only the missing migrations, for an upgrade").conflicts("force"))
    .addOption(new Option("--migrate", "also run the migrations").conflicts("dryRun"));
  // The API's own files are never overwritten: existing ones belong to the application's author.
  if (feature === "pages") {
    command
      .option("--json", "without pages, for your own front end: every route responds with JSON")
      .option("--force", "overwrite existing files that differ");
  } else {
    command
      .option("--many", "users have several tokens: their table, and tokens: many() in config/api.ts")
      .addOption(new Option("--print-names").hideHelp());
  }
  return command.action(async ({ json, dryRun, force, many, migrate, migrations, printNames }: Options) => {
    if (printNames) return terminal.print(await namesLine(terminal.root));
    const wanted = json ? "json" : feature;
    const read = feature === "api" ? await apiNamesOf(terminal.root) : null;
    const plan = await (migrations ? planMigrations : planInstallation)(terminal.root, wanted, {
      hasManyTokens: many === true,
      ...(read !== null && { apiNames: read.names }),
    });
    if (dryRun) await printDiff(terminal, plan);
    else if (migrations) {
      await writeMigrations(terminal.root, plan);
      printWritten(terminal, plan, { migrates: migrate === true });
    } else {
      const secrets = await writeInstallation(terminal.root, plan, force ?? false);
      printWritten(terminal, plan, { secrets, migrates: migrate === true });
    }
    if (read !== null && read.problem !== null) {
      terminal.print(
        `The application can't be loaded (${read.problem}), so its API has the usual names: the column api_token, ` +
          "routes/api, /api/auth. If you have chosen others, change them in the new files.",
      );
    }
    printRemaining(terminal, plan.remaining);
    const [command] = migrateCommands(terminal);
    if (migrate) await command!.parseAsync([], { from: "user" });
  });
}

/** Prints the changes that would be made. */
export async function printDiff(terminal: Terminal, plan: Installation): Promise<void> {
  // Its text contains secrets.
  if (plan.environment !== null) terminal.print("Variables would be added to .env.");
  else if (plan.files.length === 0) terminal.print(nothingToWrite(plan, "nothing would be changed"));
  for (const { path, before, text } of plan.files) {
    for (const line of await unifiedDiff(path, before, text)) {
      terminal.print(
        line.startsWith("+") ? emphasis(line, "green") : line.startsWith("-") ? emphasis(line, "red") : line,
      );
    }
  }
}

function nothingToWrite({ remaining }: Installation, outcome: string): string {
  return remaining.length === 0
    ? `Everything is already in place; ${outcome}.`
    : `Every file is already in place; ${outcome}.`;
}

/**
 * The difference between two texts, as `diff -u` prints it.
 *
 * @param before `null` if the file is new
 */
export async function unifiedDiff(path: string, before: string | null, after: string): Promise<string[]> {
  if (before === after) return [];
  // Imported lazily, because `ashlar serve` loads every command.
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import("diff");
  const name = before === null ? "/dev/null" : `a/${path}`;
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY };
  const patch = createTwoFilesPatch(name, `b/${path}`, before ?? "", after, undefined, undefined, options);
  return patch.split("\n").slice(0, -1);
}

const NO_SECRETS: FilledSecrets = { fromExample: false, written: [] };

/**
 * Prints the changes that were made.
 *
 * @param migrates whether the command runs the migrations that it has written
 */
export function printWritten(
  terminal: Terminal,
  plan: Installation,
  { secrets = NO_SECRETS, migrates = false }: { readonly secrets?: FilledSecrets; readonly migrates?: boolean } = {},
): void {
  for (const { path, before } of plan.files) terminal.print(`${before === null ? "Created" : "Changed"} ${path}`);
  if (plan.environment !== null) terminal.print("Changed .env");
  const made = describeSecrets(secrets);
  if (made !== null) terminal.print(made);
  const isDone = plan.files.length === 0 && plan.environment === null && made === null;
  if (isDone) terminal.print(nothingToWrite(plan, "nothing was changed"));
  if (plan.files.some(stopsListening))
    terminal.print("`node app.ts` no longer listens: app.ts exports the application, and npx ashlar serve starts it.");
  if (!migrates && plan.files.some(({ path }) => path.startsWith("database/")))
    terminal.print("Run the migrations: npx ashlar migrate");
}

/** Returns whether a change takes the call of `listen` out of `app.ts`. */
function stopsListening({ path, before, text }: Installation["files"][number]): boolean {
  return path === "app.ts" && before !== null && before.includes(".listen(") && !text.includes(".listen(");
}

/** Prints what to add by hand, by file. */
export function printRemaining(terminal: Terminal, remaining: readonly RemainingStep[]): void {
  if (remaining.length === 0) return;
  terminal.print();
  terminal.print("Add the following by hand:");
  for (const { file, lines, problem } of remaining) {
    terminal.print();
    terminal.print(emphasis(file, "bold") + (problem === undefined ? "" : `, which can't be read: ${problem}`));
    for (const line of lines) terminal.print(`  ${line}`);
  }
}
