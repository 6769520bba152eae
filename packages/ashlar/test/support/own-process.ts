import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { shellEnvironment } from "./shell-environment.ts";

/** How a program runs; what is left out is as in this process. */
export interface ProgramOptions {
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Variables besides those of a shell. */
  readonly env?: Readonly<Record<string, string>>;
}

/** What a module, given as text, prints when it runs in a process of its own. */
export async function outputOf(program: string, { args = [], cwd, env }: ProgramOptions = {}): Promise<string> {
  const command = ["--input-type=module", "--eval", program, "--", ...args];
  const { stdout } = await promisify(execFile)(process.execPath, command, {
    cwd,
    env: { ...shellEnvironment(), ...env },
  });
  return stdout;
}
