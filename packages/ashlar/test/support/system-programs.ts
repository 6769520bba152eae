import { spawnSync } from "node:child_process";
import { describe } from "vitest";

/** Whether a program of the system can be started. */
export function isInstalled(program: string): boolean {
  const { error } = spawnSync(program, ["--version"], { stdio: "ignore" });
  return error === undefined;
}

/**
 * Defines a suite that needs a program of the system. If it is missing, the suite is listed as skipped; with `CI` set,
 * it fails.
 */
export function withProgram(program: string, define: () => void): void {
  if (process.env.CI || isInstalled(program)) describe(program, define);
  else describe.skip(`${program} (not installed)`, define);
}
