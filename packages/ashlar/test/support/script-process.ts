import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { makeFolder } from "./temporary-folder.ts";

/** A script that runs a server in a separate process. */
export interface ScriptProcess {
  readonly child: ChildProcess;
  readonly port: number;
  /** Its output on both streams so far. */
  readonly output: () => string;
  /** How it ended. */
  readonly ended: Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>;
}

/** Options for running a script. */
export interface ScriptOptions {
  /** Arguments of Node itself. */
  readonly flags?: readonly string[];
  /** Files next to the script, by their relative paths. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs a script that starts a server and prints `port <number>`; stops it after the test.
 *
 * @param script the module's text
 * @throws with the output, if the script ends before it listens
 */
export async function runScript(script: string, options: ScriptOptions = {}): Promise<ScriptProcess> {
  const { kill, ...running } = begin(script, options);
  onTestFinished(kill);
  return { ...running, port: await running.port };
}

/** Runs a script like {@link runScript}, for several tests, which have to stop it. */
export async function startScript(
  script: string,
  options: ScriptOptions = {},
): Promise<ScriptProcess & { readonly kill: () => void }> {
  const running = begin(script, options);
  return { ...running, port: await running.port };
}

function begin(script: string, options: ScriptOptions) {
  const { folder, remove } = makeFolder({ ...options.files, "script.ts": script });
  const child = spawn(process.execPath, [...(options.flags ?? []), join(folder, "script.ts")], {
    cwd: folder,
    env: { ...process.env, APP_ENV: "test", ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const kill = (): void => {
    child.kill("SIGKILL");
    remove();
  };
  let output = "";
  const { promise: port, resolve, reject } = Promise.withResolvers<number>();
  const read = (data: Buffer): void => {
    output += String(data);
    const found = /port (\d+)/.exec(output);
    if (found !== null) resolve(Number(found[1]));
  };
  child.stdout.on("data", read);
  child.stderr.on("data", read);
  const ended = new Promise<readonly [number | null, NodeJS.Signals | null]>((done) => {
    child.on("close", (code, signal) => done([code, signal]));
  });
  void ended.then((how) => reject(new Error(`The script ended by itself (${how.join()}):\n${output}`)));
  return { child, port, output: () => output, ended, kill };
}
