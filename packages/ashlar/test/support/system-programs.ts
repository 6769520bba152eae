import { spawnSync } from "node:child_process";
import { describe } from "vitest";

/** Whether a program of the system can be started. */
export function isInstalled(program: string): boolean {
  const { error } = spawnSync(program, ["--version"], { stdio: "ignore" });
  return error === undefined;
}

/**
 * Defines a suite that needs a program of the system. Without it, the suite is skipped, by name; with `CI` set, it runs
 * and fails.
 */
export function withProgram(program: string, define: () => void): void {
  if (process.env.CI || isInstalled(program)) describe(program, define);
  else describe.skip(`${program} (not installed)`, define);
}
