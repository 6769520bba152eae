import { existsSync } from "node:fs";
import { basename, dirname, join, win32 } from "node:path";

/** A program and its arguments, to be started without a shell: no path in it is ever quoted. */
export interface Invocation {
  readonly command: string;
  readonly args: readonly string[];
}

/** What decides how npm is started; `process` has it all. */
export interface Machine {
  readonly platform: string;
  readonly execPath: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const SCRIPT = "node_modules/npm/bin/npm-cli.js";

/**
 * How npm is started with these arguments.
 *
 * On Windows npm is a batch file, which only a shell can run, and `cmd.exe` takes a command line apart at blanks, `&` and
 * `%`. So npm's own script is run, by the Node.js that is running.
 */
export function npmInvocation(args: readonly string[], machine: Machine = process): Invocation {
  const script = scripts(machine).find(existsSync);
  // What else is called npm on Windows is a program of a version manager.
  return script === undefined ? { command: "npm", args } : { command: machine.execPath, args: [script, ...args] };
}

/** Where npm's script can be, the likeliest first. */
function scripts({ platform, execPath, env }: Machine): string[] {
  // npm says it to whatever it runs. So do pnpm and Yarn, of themselves.
  const running = env.npm_execpath ?? "";
  const own = /^np[mx]-cli\.js$/.test(basename(running)) ? [join(dirname(running), "npm-cli.js")] : [];
  if (platform !== "win32") return own;
  const folders = (env.PATH ?? env.Path ?? "").split(win32.delimiter).filter((folder) => folder !== "");
  const withNpm = folders.filter((folder) => existsSync(join(folder, "npm.cmd")));
  return [...own, join(dirname(execPath), SCRIPT), ...withNpm.map((folder) => join(folder, SCRIPT))];
}
