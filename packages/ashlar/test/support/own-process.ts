import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { shellEnvironment } from "./shell-environment.ts";

/** Options for running a program; by default, it runs like this process. */
export interface ProgramOptions {
  readonly args?: readonly string[];
  /** Options of Node itself. */
  readonly flags?: readonly string[];
  readonly cwd?: string;
  /** Variables in addition to a shell's. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Returns what a module, given as text, prints when it runs in a separate process. */
export async function outputOf(
  program: string,
  { args = [], flags = [], cwd, env }: ProgramOptions = {},
): Promise<string> {
  const command = [...flags, "--input-type=module", "--eval", program, "--", ...args];
  const { stdout } = await promisify(execFile)(process.execPath, command, {
    cwd,
    env: { ...shellEnvironment(), ...env },
  });
  return stdout;
}
