// Checks packages/ashlar/data/generated-files.json: the digests that `ashlar upgrade` uses to recognize generated files of
// every version. `--write` adds the digests of changed stubs; without `--write`, a missing digest is an error. Digests are
// never removed.

import { globSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { digestOf, FOLDERS } from "../packages/ashlar/src/scaffold/upgrade/generated-files.ts";

const packageFolder = join(import.meta.dirname, "../packages/ashlar");
const file = join(packageFolder, "data/generated-files.json");

/** The formatter's line width. */
const WIDTH = 120;

/** Values that depend on the application, which don't get separate digests. */
const FILLED = /%\{|^\s*\/\/#if/m;

/** An entry in the formatter's style. */
function entry(path: string, digests: readonly string[], end: string): string {
  const values = digests.map((digest) => JSON.stringify(digest));
  const line = `  ${JSON.stringify(path)}: [${values.join(", ")}]${end}`;
  return line.length <= WIDTH ? line : `  ${JSON.stringify(path)}: [\n    ${values.join(",\n    ")}\n  ]${end}`;
}

const before = await readFile(file, "utf8");
const record = new Map(Object.entries(JSON.parse(before) as Record<string, string[]>));
const missing: string[] = [];
for (const folder of FOLDERS) {
  const cwd = join(packageFolder, "stubs", folder);
  for (const stub of globSync("**/*.stub", { cwd }).sort()) {
    const text = await readFile(join(cwd, stub), "utf8");
    const path = stub.replaceAll("\\", "/").replace(/\.stub$/, "");
    const digests = record.get(path) ?? [];
    if (FILLED.test(text) || digests.includes(digestOf(text))) continue;
    record.set(path, [...digests, digestOf(text)]);
    missing.push(path);
  }
}
const entries = [...record].sort(([one], [other]) => (one < other ? -1 : 1));
const lines = entries.map(([path, digests], index) => entry(path, digests, index < entries.length - 1 ? "," : ""));
const after = `{\n${lines.join("\n")}\n}\n`;
if (process.argv.includes("--write")) await writeFile(file, after);
else if (missing.length > 0) {
  for (const path of missing) console.error(`${path} has changed, and its digest is missing.`);
  console.error("Run npm run generated-files -- --write");
  process.exitCode = 1;
}
