import type { FilledSecrets, Installation, RemainingStep } from "../../scaffold/index.ts";
import { describeSecrets } from "../secrets/fill-all-secrets.ts";
import { emphasis, type Terminal } from "../terminal.ts";

/** Prints the changes that would be made. */
export async function printDiff(terminal: Terminal, plan: Installation): Promise<void> {
  // The text of .env isn't printed, because it contains secrets.
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
 * @param before the old text; `null` if the file is new
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
 * @param migrates whether the command runs the migrations that it creates
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

/** Reports whether a change removes the call of `listen` from `app.ts`. */
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
