import { type ChildProcess, spawn } from "node:child_process";
import { onTestFinished } from "vitest";
import { shellEnvironment } from "./shell-environment.ts";

/** A program that runs until it is stopped, and its output. */
export interface LongProcess {
  readonly child: ChildProcess;
  /** Everything printed so far, on both streams. */
  output(): string;
  /** Waits until this is printed after the last call's match, and returns the match. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Waits for the end. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** Sends a signal to the program and everything that it started, like Ctrl+C in a terminal. */
  signalGroup(signal: NodeJS.Signals): void;
}

/** How long to wait for output: less than a test's timeout, so that the failure shows the output so far. */
const PATIENCE_MS = 150_000;

/**
 * Starts a program in a folder, in its own process group, and stops it after the test.
 *
 * @param environment variables in addition to those of {@link shellEnvironment}
 */
export function startProcess(
  root: string,
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): LongProcess {
  const started = openProcess(root, command, args, environment);
  onTestFinished(() => started.signalGroup("SIGKILL"));
  return started;
}

/** Starts a program like {@link startProcess}, for several tests, which have to stop it. */
export function openProcess(
  root: string,
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): LongProcess {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...shellEnvironment(), ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  let seen = 0;
  let isOver = false;
  let notify = (): void => {};
  const read = (chunk: Buffer): void => {
    output += chunk.toString();
    notify();
  };
  child.stdout.on("data", read);
  child.stderr.on("data", read);
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on("close", (code, signal) => {
      isOver = true;
      notify();
      resolve({ code, signal });
    });
  });
  const signalGroup = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-child.pid!, signal);
    } catch {
      // All of them have already ended.
    }
  };
  const printed = async (pattern: RegExp): Promise<RegExpExecArray> => {
    const late = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      const match = pattern.exec(output.slice(seen));
      if (match !== null) {
        seen += match.index + match[0].length;
        return match;
      }
      if (isOver || late.aborted) throw new Error(`It has not printed ${pattern}:\n${output}`);
      await new Promise<void>((resolve) => {
        notify = resolve;
        late.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  };
  return { child, output: () => output, printed, ended, signalGroup };
}
