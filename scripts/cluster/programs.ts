import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";

/** A program that runs until it is stopped. */
export interface Program {
  readonly child: ChildProcess;
  /** Its output, on both streams. */
  readonly output: () => string;
  /** Stops it, waits, and returns its exit code; `null` if a signal ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/**
 * Starts a program.
 *
 * @param logFile also gets its output
 */
export function startProgram(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>>; readonly logFile?: string },
): Program {
  const { cwd, env = {}, logFile } = options;
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const read = (chunk: Buffer): void => {
    output += chunk.toString();
    if (logFile !== undefined) appendFileSync(logFile, chunk);
  };
  child.stdout.on("data", read);
  child.stderr.on("data", read);
  return {
    child,
    output: () => output,
    async stop(signal = "SIGTERM") {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, "exit");
        child.kill(signal);
        await ended;
      }
      return child.exitCode;
    },
  };
}

/** The first version number that a program prints, on either stream. */
export function versionOf(command: string, ...args: readonly string[]): string {
  const text = execFileSync("sh", ["-c", `${[command, ...args].join(" ")} 2>&1`], { encoding: "utf8" });
  return /\d+\.\d+(?:\.\d+)?/.exec(text)?.[0] ?? "unknown";
}
