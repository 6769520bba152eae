import { type ChildProcess, spawn } from "node:child_process";
import type { Interruption } from "./interruption.ts";
import type { Invocation } from "./package-managers.ts";

/** How a program ended. */
export interface Outcome {
  /** `null` on success, otherwise a short reason. */
  readonly problem: string | null;
  /** Its output; empty if that was passed through. */
  readonly output: string;
}

/** How long a program may take to end after a signal, in milliseconds. */
const GRACE_MS = 10_000;

/**
 * Runs a program in a folder, and waits until it and everything that it started have ended.
 *
 * An interruption reaches all of them; a second one kills them.
 *
 * @param isShown whether to pass its output through, instead of collecting it
 */
export async function run(
  folder: string,
  { command, args, needsShell, env }: Invocation,
  interruption: Interruption,
  isShown = false,
): Promise<Outcome> {
  if (interruption.cause !== null) return { problem: interruption.cause, output: "" };
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", isShown ? "inherit" : "pipe", isShown ? "inherit" : "pipe"],
    shell: needsShell ?? false,
    // In a separate group, so that a signal to this process alone also ends whatever the program started.
    detached: HAS_GROUPS,
  });
  let output = "";
  const collect = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout?.on("data", collect);
  child.stderr?.on("data", collect);
  let timer: NodeJS.Timeout | undefined;
  const stop = interruption.onSignal((signal, count) => {
    sendTo(child, count > 1 ? "SIGKILL" : signal);
    timer ??= setTimeout(() => sendTo(child, "SIGKILL"), GRACE_MS);
  });
  // Processes that it leaves running would keep writing to the folder.
  child.on("exit", () => sendTo(child, "SIGKILL"));
  try {
    const problem = await outcomeOf(child, command);
    return { problem: interruption.cause ?? problem, output };
  } finally {
    clearTimeout(timer);
    stop();
  }
}

const HAS_GROUPS = process.platform !== "win32";

function sendTo(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (HAS_GROUPS) process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch {
    // It has ended.
  }
}

function outcomeOf(child: ChildProcess, command: string): Promise<string | null> {
  return new Promise((resolve) => {
    child.on("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code === "ENOENT" ? `${command} was not found` : error.message),
    );
    child.on("close", (code, signal) => resolve(code === 0 ? null : (signal ?? `exit code ${code}`)));
  });
}
