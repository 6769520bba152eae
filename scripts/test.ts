// `npm test`: all tests. Arguments are Vitest's, such as the path of a file.
// `npm test -- changed`: those nearest to the changes since `main`, for half a minute; `--since HEAD~3` for another commit.
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { npmInvocation } from "../packages/create-ashlar/src/package-managers.ts";
import { changedFiles, fitting, lastDurations, reachedTests } from "./reached-tests.ts";

const ROOT = join(import.meta.dirname, "..");
/** How long the tests of a change may take, using all processors. The build and the start take the rest of half a minute. */
const SECONDS = 8 * availableParallelism();

const args = process.argv.slice(2);
process.exitCode = args[0] === "changed" ? testChanged(args.slice(1)) : build() || vitest(args);

function testChanged(rest: string[]): number {
  const { values } = parseArgs({ args: rest, options: { since: { type: "string", default: "main" } } });
  const changed = changesSince(values.since);
  if (changed === null) {
    console.error(
      `git doesn't know ${values.since}. Name another branch or commit: npm test -- changed --since HEAD~1`,
    );
    return 1;
  }
  const reached = reachedTests(ROOT, changed);
  if (reached.length === 0) {
    console.log(`What differs from ${values.since} reaches no test.`);
    return 0;
  }
  const files = fitting(reached, SECONDS, lastDurations(ROOT));
  console.log(
    `${changed.length} changed files reach ${reached.length} test files. These are the nearest ${files.length}:`,
  );
  const isBuilt = files.every((file) => /^packages\/\w+\/src\//.test(file)) || !isOutdated(changed);
  return (isBuilt ? 0 : build()) || vitest(files);
}

function changesSince(since: string): string[] | null {
  try {
    return changedFiles(ROOT, since);
  } catch {
    return null;
  }
}

/** Whether a changed file is newer than the built package. */
function isOutdated(changed: readonly string[]): boolean {
  const built = join(ROOT, "packages/ashlar/dist/types/public/index.d.ts");
  if (!existsSync(built)) return true;
  const { mtimeMs } = statSync(built);
  return changed
    .filter((file) => /^(?:packages\/\w+\/(?!test)|docs\/)/.test(file) && !file.endsWith(".test.ts"))
    .some((file) => !existsSync(join(ROOT, file)) || statSync(join(ROOT, file)).mtimeMs > mtimeMs);
}

function build(): number {
  const { command, args } = npmInvocation(["run", "--silent", "build"]);
  return spawnSync(command, args, { cwd: ROOT, stdio: "inherit" }).status ?? 1;
}

function vitest(args: readonly string[]): number {
  const program = join(ROOT, "node_modules/vitest/vitest.mjs");
  return spawnSync(process.execPath, [program, "run", ...args], { cwd: ROOT, stdio: "inherit" }).status ?? 1;
}
