// Counts what a run of the tests found, for .ci/run. Vitest's own JSON leaves out the errors outside of tests: an
// exception in a timer, a rejection that no one awaited, a file handle that the garbage collector found open.
import { writeFileSync } from "node:fs";

/** @param {{ readonly file: string }} options where the counts are written */
export default class CountsReporter {
  constructor(options) {
    this.file = options.file;
  }

  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      let hasFailed = false;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        // What never ran, and was not left out on purpose, did not pass.
        const kind = state === "pending" ? "failed" : state;
        counts[kind] += 1;
        hasFailed ||= kind === "failed";
      }
      // A file that could not be loaded, or whose hooks failed, may have no failed test in it, yet it failed.
      if (!module.ok() && !hasFailed) counts.failed += 1;
    }
    writeFileSync(this.file, JSON.stringify(counts));
  }
}
