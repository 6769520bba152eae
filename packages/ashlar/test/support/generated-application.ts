import { type ChildProcess, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { KernelClass } from "../../src/kernel/index.ts";
import { createProject, type ProjectOptions } from "../../src/scaffold/index.ts";
import { quickHasher } from "../../src/testing/index.ts";
import { makeApplicationFolder } from "./application-folder.ts";
import { shellEnvironment } from "./shell-environment.ts";
import { typeProblems } from "./type-check.ts";

export { freePort } from "./free-port.ts";

const PACKAGE = join(import.meta.dirname, "..", "..");

/** The command of the package, as `npx ashlar` runs it. */
export const COMMAND: string = join(PACKAGE, "bin/ashlar.js");

/**
 * Generates an application in a folder from which it can import the framework's source. It is removed after the test.
 *
 * @param options the features to include; default: the pages, the API and SQLite
 * @returns its folder
 */
export async function generatedApplication(options: Partial<ProjectOptions> = {}): Promise<string> {
  const { root, remove } = await generateApplication(options);
  onTestFinished(remove);
  return root;
}

/** Generates an application like {@link generatedApplication}, for several tests, which have to remove it. */
export async function generateApplication(
  options: Partial<ProjectOptions> = {},
): Promise<{ readonly root: string; readonly remove: () => Promise<void> }> {
  const parent = await makeApplicationFolder();
  const folder = join(parent.folder, "shop");
  const { root } = await createProject({ folder, pages: true, api: true, database: "sqlite", ...options });
  return { root, remove: parent.remove };
}

/**
 * Runs a program in a folder, and returns its output.
 *
 * @param environment variables in addition to those of {@link shellEnvironment}
 */
export async function execute(
  root: string,
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; output: string }> {
  const env = { ...shellEnvironment(), ...environment };
  const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  return { code, output };
}

/** Serves an application in a separate process, on a free port, and stops it when the test has finished. */
export async function serve(
  root: string,
  environment: Record<string, string> = {},
  flags: readonly string[] = [],
): Promise<ServedProcess> {
  const { child, served } = begin(root, environment, flags);
  onTestFinished(() => void child.kill("SIGKILL"));
  return await served;
}

/** Serves an application like {@link serve}, for several tests: it runs until it is killed. */
export async function startServing(root: string, environment: Record<string, string> = {}): Promise<ServedProcess> {
  return await begin(root, environment, []).served;
}

/** An application that is served in a separate process. */
export interface ServedProcess {
  readonly url: string;
  /** The output until it was ready. */
  readonly line: string;
  readonly child: ChildProcess;
  /** The output so far, on both streams. */
  readonly output: () => string;
  /** Its exit code, its signal and all its output, or `null` while it runs. */
  readonly end: () => string | null;
}

function begin(
  root: string,
  environment: Record<string, string>,
  flags: readonly string[],
): { readonly child: ChildProcess; readonly served: Promise<ServedProcess> } {
  const child = spawn(process.execPath, [COMMAND, "serve", "--port", environment.PORT ?? "0", ...flags], {
    cwd: root,
    env: { ...shellEnvironment(), ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const end = (): string | null => {
    const { exitCode, signalCode } = child;
    return exitCode === null && signalCode === null ? null : `code ${exitCode}, signal ${signalCode}:\n${output}`;
  };
  const served = new Promise<ServedProcess>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const [line, url] = /^.+ is listening on (http:[^\s"]+).*$/m.exec(output) ?? [];
      if (line !== undefined && url !== undefined) resolve({ url, line, child, end, output: () => output });
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("close", () => reject(new Error(`The application ended: ${end()}`)));
  });
  return { child, served };
}

/**
 * Serves an application in this process, on a free port, and stops it when the test has finished. Its passwords are
 * hashed quickly. Prefer this unless the test needs a separate process, which takes almost a second to start.
 *
 * @returns its URL
 */
export async function serveHere(root: string, environment: Record<string, string> = {}): Promise<string> {
  const { Kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: KernelClass };
  // Most tests serve in a separate process, and don't need the framework's source here.
  const { createApplication } = await import("../../src/boot/index.ts");
  const application = await createApplication({
    root,
    kernel: Kernel,
    environment: { APP_ENV: "test", ...environment },
    config: { auth: { PASSWORDS: { hasher: quickHasher() } } },
  });
  onTestFinished(() => application.shutdown());
  return (await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false })).url;
}

/** Checks the types of an application, with its own compiler and settings. */
export async function checkTypes(root: string): Promise<void> {
  expect(await typeProblems(root)).toEqual([]);
}

/** Checks the types of an application, and runs its tests. */
export async function passesItsOwnChecks(
  root: string,
  has: { readonly pages: boolean; readonly json?: boolean; readonly api: boolean; readonly verification?: boolean },
): Promise<void> {
  await checkTypes(root);
  const { code, output } = await execute(root, process.execPath, ["--test", "tests/*.test.ts"]);
  expect(output).toContain("ℹ fail 0");
  // The tests of accounts and of verification.
  const [accounts, verification] = has.pages ? [5, 2] : has.json === true ? [5, 1] : [0, 0];
  const passed = 1 + (has.api ? 2 : 0) + accounts + (has.verification === false ? 0 : verification);
  expect(output).toContain(`ℹ pass ${passed}`);
  expect(code).toBe(0);
}

/** Changes lines in a file of an application. */
export async function edit(
  root: string,
  path: string,
  ...changes: readonly (readonly [from: string, to: string])[]
): Promise<void> {
  const file = join(root, path);
  let text = await readFile(file, "utf8");
  for (const [from, to] of changes) {
    expect(text).toContain(from);
    text = text.replace(from, () => to);
  }
  await writeFile(file, text);
}
