// `npm run test-times -- before.jsonl packages/ashlar/test/cli`: runs tests, and records the processor time of each file. Further
// arguments are Vitest's; without one, all tests run. Only Linux reports these times.
// `npm run test-times -- --page before.jsonl after.jsonl`: writes bench/TESTS.md from one such record, or from several, each
// named by its file.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type FileTimes, type Run, timesPage } from "./test-times/table.ts";

const ROOT = join(import.meta.dirname, "..");

const { values, positionals } = parseArgs({ options: { page: { type: "boolean" } }, allowPositionals: true });
const [file, ...rest] = positionals;
if (file === undefined) {
  console.error(
    "Name a file for the record, and the tests: npm run test-times -- times.jsonl packages/ashlar/test/cli",
  );
  process.exitCode = 1;
} else if (values.page === true) {
  writeFileSync(join(ROOT, "bench/TESTS.md"), timesPage(positionals.map(runOf)));
} else {
  process.exitCode = record(resolve(file), rest);
}

/** Runs Vitest. @returns its exit code */
function record(file: string, args: readonly string[]): number {
  rmSync(file, { force: true });
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const env = { ...process.env, ASHLAR_TEST_TIMES: file };
  return spawnSync(process.execPath, [vitest, "run", ...args], { cwd: ROOT, stdio: "inherit", env }).status ?? 1;
}

function runOf(file: string): Run {
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return { name: basename(file, ".jsonl"), records: lines.map((line) => JSON.parse(line) as FileTimes) };
}
