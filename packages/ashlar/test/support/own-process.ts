import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** How a program runs; what is left out is as in this process. */
export interface ProgramOptions {
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** What a module, given as text, prints when it runs in a process of its own. */
export async function outputOf(program: string, { args = [], cwd, env }: ProgramOptions = {}): Promise<string> {
  const command = ["--input-type=module", "--eval", program, "--", ...args];
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd, env: { ...process.env, ...env } });
  return stdout;
}
