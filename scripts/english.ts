// Counts phrases that read as translated (scripts/english/markers.ts) in comments, sentences in strings, Markdown and
// stubs. Each file's limit is in scripts/english/baseline.json: the number it had when it was last rewritten. `--write`
// lowers these limits and never raises one. `--list` prints every phrase that is counted.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Baseline, lowered, problemsOf } from "./english/baseline.ts";
import { type Finding, findingsIn } from "./english/findings.ts";

const root = join(import.meta.dirname, "..");
const recorded = join(import.meta.dirname, "english/baseline.json");

/** Files that quote the phrases, and generated files. */
const LEFT_OUT = /^(?:scripts\/english.*|packages\/ashlar\/(?:api-report|docs|CHANGELOG)\b.*)$/;

function sourceFiles(): string[] {
  const { stdout } = spawnSync("git", ["ls-files", "-z", "*.ts", "*.md", "*.stub"], { cwd: root, encoding: "utf8" });
  return stdout.split("\0").filter((path) => path !== "" && !LEFT_OUT.test(path));
}

const found = new Map<string, readonly Finding[]>();
for (const path of sourceFiles()) {
  const findings = findingsIn(path, readFileSync(join(root, path), "utf8"));
  if (findings.length > 0) found.set(path, findings);
}

const baseline = JSON.parse(readFileSync(recorded, "utf8")) as Baseline;
if (process.argv.includes("--list")) {
  for (const [path, findings] of found) {
    for (const { line, text, instead } of findings) console.log(`${path}:${line}: "${text}" (${instead})`);
  }
}
if (process.argv.includes("--write")) {
  writeFileSync(recorded, `${JSON.stringify(lowered(baseline, found), null, 2)}\n`);
}
const problems = problemsOf(JSON.parse(readFileSync(recorded, "utf8")) as Baseline, found);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
