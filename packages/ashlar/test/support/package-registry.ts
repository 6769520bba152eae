import { onTestFinished } from "vitest";
import { startRegistry } from "./registry-server.ts";

export { canInstall } from "./registry-server.ts";

/**
 * A registry like `startRegistry`'s, which is stopped after the test.
 *
 * @returns the variables that make npm use it
 */
export async function packageRegistry(): Promise<Record<string, string>> {
  const { variables, end } = await startRegistry();
  onTestFinished(end);
  return variables;
}
