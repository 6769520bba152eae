// Prints the counts of a run of the tests as its last line: node .ci/counts.mjs <file of the reporter> <exit code>
import { readFileSync } from "node:fs";

const [file, exitCode] = process.argv.slice(2);

function readCounts() {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    console.error("The tests left no report: they did not run to their end.");
    return { passed: 0, failed: 0, skipped: 0 };
  }
}

const { passed, failed: counted, skipped } = readCounts();
// Whatever a run failed by that is not counted (a crash of the runner, an installation) is a failure all the same.
const failed = counted === 0 && (exitCode !== "0" || passed === 0) ? 1 : counted;
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed === 0 ? 0 : 1;
