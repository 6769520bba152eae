import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createProject, type ProjectOptions } from "../../src/scaffold/index.ts";

const PACKAGE = join(import.meta.dirname, "..", "..");

/**
 * Makes an application where it can find the framework's source, and removes it when the test has finished.
 *
 * @param options what it is to have; the API and SQLite where left out
 * @returns its folder
 */
export async function generatedApplication(options: Partial<ProjectOptions> = {}): Promise<string> {
  // Inside the package, so that a process of its own resolves `ashlar` as an installed application would.
  const parent = await mkdtemp(join(PACKAGE, ".generated-"));
  onTestFinished(async () => await rm(parent, { recursive: true, force: true }));
  const { root } = await createProject({ folder: join(parent, "shop"), api: true, database: "sqlite", ...options });
  return root;
}

/** Runs a program in a folder, and gives what it printed. */
export async function execute(
  root: string,
  command: string,
  args: readonly string[],
): Promise<{ code: number | null; output: string }> {
  const { APP_ENV: _, ...environment } = process.env;
  const child = spawn(command, args, { cwd: root, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  return { code, output };
}
