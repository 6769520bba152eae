import { existsSync } from "node:fs";
import { basename, dirname, join, win32 } from "node:path";

/** A program and its arguments, to start without a shell, so paths need no quoting. */
export interface Invocation {
  readonly command: string;
  readonly args: readonly string[];
}

/** What determines how npm is started; `process` has all of it. */
export interface Machine {
  readonly platform: string;
  readonly execPath: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const SCRIPT = "node_modules/npm/bin/npm-cli.js";

/**
 * Returns how to start npm with these arguments.
 *
 * On Windows npm is a batch file, which only a shell can run, and `cmd.exe` splits a command line at spaces, `&` and `%`.
 * So the current Node.js runs npm's own script.
 */
export function npmInvocation(args: readonly string[], machine: Machine = process): Invocation {
  const script = scripts(machine).find(existsSync);
  // Any other npm on Windows is a version manager's executable.
  return script === undefined ? { command: "npm", args } : { command: machine.execPath, args: [script, ...args] };
}

/** Where npm's script may be, the most likely place first. */
function scripts({ platform, execPath, env }: Machine): string[] {
  // npm sets this for everything it runs. pnpm and Yarn set it to themselves.
  const running = env.npm_execpath ?? "";
  const own = /^np[mx]-cli\.js$/.test(basename(running)) ? [join(dirname(running), "npm-cli.js")] : [];
  if (platform !== "win32") return own;
  const folders = (env.PATH ?? env.Path ?? "").split(win32.delimiter).filter((folder) => folder !== "");
  const withNpm = folders.filter((folder) => existsSync(join(folder, "npm.cmd")));
  return [...own, join(dirname(execPath), SCRIPT), ...withNpm.map((folder) => join(folder, SCRIPT))];
}
