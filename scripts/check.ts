// All checks before a commit, one line each: `npm run check`. A failed check prints its full output.
import { spawnSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { npmInvocation } from "../packages/create-ashlar/src/package-managers.ts";

const steps: readonly (readonly [what: string, script: string])[] = [
  ["lock file, for every platform", "check:lock"],
  ["build", "build"],
  ["types", "types"],
  ["lint and format", "lint"],
  ["layers and cycles", "layers"],
  ["links in doc comments", "links"],
  ["phrases that read as translated", "english"],
  ["unused exports, files and packages", "unused"],
  ["built packages", "packaging"],
  ["map of security properties", "security-map"],
  ["private names in features", "private-names"],
  ["reference of features", "feature-reference"],
  ["report of the public API", "api-report"],
  ["record of generated files", "generated-files"],
];

let failed = 0;
for (const [what, script] of steps) {
  const start = performance.now();
  const { command, args } = npmInvocation(["run", "--silent", script]);
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${status === 0 ? "ok    " : "FAILED"} ${what} (${seconds} s)`);
  if (status !== 0) {
    failed++;
    console.log(error?.message ?? stdout + stderr);
  }
}
process.exitCode = failed === 0 ? 0 : 1;
