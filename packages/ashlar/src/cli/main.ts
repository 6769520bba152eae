import { run } from "./program.ts";
import { processTerminal } from "./terminal.ts";

/**
 * The `ashlar` command.
 *
 * @param args the command line, without the interpreter and the script
 * @returns the exit code
 */
export async function main(args: readonly string[]): Promise<number> {
  return await run(args, processTerminal());
}
