import { run } from "../../src/cli/program.ts";

/** What a command line printed, and its exit code. */
export interface Outcome {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

/** Runs a command line in a folder, as `npx ashlar …` would. */
export async function ashlar(root: string, ...args: string[]): Promise<Outcome> {
  const output: string[] = [];
  const errors: string[] = [];
  const code = await run(args, {
    root,
    print: (line = "") => void output.push(line),
    printError: (line) => void errors.push(line),
  });
  return { code, output: output.join("\n"), errors: errors.join("\n") };
}
