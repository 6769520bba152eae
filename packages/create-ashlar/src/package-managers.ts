import { existsSync } from "node:fs";
import { basename, dirname, join, win32 } from "node:path";
import type { PackageManager } from "../../ashlar/src/scaffold/files/package-manager.ts";

/** A program and its arguments. */
export interface Invocation {
  readonly command: string;
  readonly args: readonly string[];
  /** Whether only a shell can start it. Its arguments then have no special meaning to a shell. */
  readonly needsShell?: true;
  /** Variables in addition to this process's; those that are `undefined` are left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The values that determine how a package manager is started; `process` has all of them. */
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
  // npm sets this for everything it runs. pnpm and Yarn set it to their own path.
  const running = env.npm_execpath ?? "";
  const own = /^np[mx]-cli\.js$/.test(basename(running)) ? [join(dirname(running), "npm-cli.js")] : [];
  if (platform !== "win32") return own;
  const folders = (env.PATH ?? env.Path ?? "").split(win32.delimiter).filter((folder) => folder !== "");
  const withNpm = folders.filter((folder) => existsSync(join(folder, "npm.cmd")));
  return [...own, join(dirname(execPath), SCRIPT), ...withNpm.map((folder) => join(folder, SCRIPT))];
}

/** The package manager that ran this command, from the variable that all of them set; npm if it is missing. */
export function runningManager(env: Machine["env"] = process.env): PackageManager {
  const [, name] = /^(npm|pnpm|yarn|bun)\//.exec(env.npm_config_user_agent ?? "") ?? [];
  return (name ?? "npm") as PackageManager;
}

const INSTALL: Readonly<Record<PackageManager, Pick<Invocation, "args" | "env">>> = {
  npm: { args: ["install", "--no-audit", "--no-fund"] },
  pnpm: { args: ["install"] },
  // With CI set, Yarn refuses to write the lock file that a new application doesn't have yet.
  yarn: { args: ["install"], env: { YARN_ENABLE_IMMUTABLE_INSTALLS: "false" } },
  bun: { args: ["install"] },
};

/** How to install an application's packages. */
export function installInvocation(manager: PackageManager, machine: Machine = process): Invocation {
  const { args, env = {} } = INSTALL[manager];
  return { ...invocationOf(manager, args, machine), env };
}

/** How to ask a package manager for its version. */
export function versionInvocation(manager: PackageManager, machine: Machine = process): Invocation {
  return invocationOf(manager, ["--version"], machine);
}

function invocationOf(manager: PackageManager, args: readonly string[], machine: Machine): Invocation {
  if (manager === "npm") return npmInvocation(args, machine);
  // The package manager that runs this command may not be the first in PATH, or may not be in it.
  const running = runningManager(machine.env) === manager ? (machine.env.npm_execpath ?? "") : "";
  if (/\.[cm]?js$/.test(running) && existsSync(running)) return { command: machine.execPath, args: [running, ...args] };
  // On Windows these are batch files, like npm.
  return { command: manager, args, ...(machine.platform === "win32" && { needsShell: true }) };
}
