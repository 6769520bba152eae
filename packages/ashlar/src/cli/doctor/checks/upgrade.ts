import { access, constants } from "node:fs/promises";
import { tmpdir } from "node:os";
import { planUpgrade } from "../../../scaffold/index.ts";
import { AshlarError } from "../../../support/index.ts";
import { type Check, type Finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";

/** The maximum number of files that a finding names. */
const NAMED = 5;

/**
 * Checks whether `ashlar upgrade` would change anything, apart from adding missing parts, which other checks report.
 */
export const UPGRADE: Check = {
  name: "Upgrade",
  needsBoot: false,
  // The check reads all of the application's text files.
  seconds: 30,
  async obstacle({ boot }: Subject): Promise<string | null> {
    if (!boot.hasEntry) return "there is no app.ts that creates an application";
    try {
      // The upgrade is done in a copy.
      await access(tmpdir(), constants.W_OK);
      return null;
    } catch {
      return `the folder for temporary files, ${tmpdir()}, can't be written`;
    }
  },
  async run({ root }: Subject): Promise<Finding[]> {
    const plan = await planUpgrade(root).catch((error: unknown) => {
      // Some code can't be parsed, which startup reports.
      if (error instanceof AshlarError && error.code === "E_COMMAND") return null;
      throw error;
    });
    if (plan === null) return [];
    const { outdated, notes } = plan;
    if (outdated.length > 0) {
      const rest = outdated.length - NAMED;
      const names = [...outdated.slice(0, NAMED), ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
      const problem = `The application is in the form of an earlier version. The upgrade writes: ${names}.`;
      const run = "npx ashlar upgrade --write && npx ashlar migrate";
      return [warning("upgrade.pending", { problem, run, note: "To see the difference first: npx ashlar upgrade" })];
    }
    if (notes.length === 0) return [];
    const problem = `This version has changed names that your code uses: ${notes.map(({ place, text }) => `${place}: ${text}`).join(" ")}`;
    return [warning("upgrade.pending", { problem, note: "Change these lines. npx ashlar upgrade lists them." })];
  },
};
