import type { CommandContext } from "../../boot/index.ts";
import { planPublication, writePublication } from "../../scaffold/index.ts";
import type { Terminal } from "../terminal.ts";
import { printDiff, printRemaining, printWritten } from "./print-changes.ts";

/** Adds files to the application, and prints what changed, or in a dry run would change, and what to add by hand. */
export async function publish(
  terminal: Terminal,
  files: Parameters<CommandContext["publish"]>[0],
  isDryRun: boolean,
): Promise<void> {
  const plan = await planPublication(terminal.root, files);
  if (isDryRun) await printDiff(terminal, plan);
  else {
    await writePublication(terminal.root, plan);
    printWritten(terminal, plan);
  }
  printRemaining(terminal, plan.remaining);
}
