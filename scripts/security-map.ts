// Checks the last column of docs/security.md, the test files that show each property. `--write` updates it; without
// `--write`, an outdated table or a property without a test is an error.

import { globSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const packageFolder = join(root, "packages/ashlar");
const document = join(root, "docs/security.md");

/** A path with forward slashes, as in the document, on Windows too. */
function slashed(path: string): string {
  return path.replaceAll("\\", "/");
}

/** The numbers at the start of the test titles in a file: "S8 …", "S1, S2 …". */
function numbersIn(source: string): Set<string> {
  const titles = source.matchAll(/["'`](S\d+(?:(?:, | and | )S\d+)*) /g);
  return new Set([...titles].flatMap(([, head]) => head!.match(/S\d+/g) ?? []));
}

const files = new Map<string, string[]>();
for (const path of globSync("{src,test}/**/*.test.ts", { cwd: packageFolder }).map(slashed).sort()) {
  for (const number of numbersIn(await readFile(join(packageFolder, path), "utf8"))) {
    files.set(number, [...(files.get(number) ?? []), path]);
  }
}

const before = await readFile(document, "utf8");
const listed = new Set<string>();
const after = before.replaceAll(/^\| (S\d+) \| (.+?) \|.*\|$/gm, (_, number: string, property: string) => {
  listed.add(number);
  return `| ${number} | ${property} | ${(files.get(number) ?? []).map((path) => `\`${path}\``).join(" ")} |`;
});

const byNumber = (a: string, b: string): number => Number(a.slice(1)) - Number(b.slice(1));
const problems = [
  ...[...listed].filter((number) => !files.has(number)).map((number) => `${number} has no test.`),
  ...[...files.keys()]
    .filter((number) => !listed.has(number))
    .sort(byNumber)
    .map((number) => `${number} has tests but is missing from docs/security.md.`),
];
if (process.argv.includes("--write")) await writeFile(document, after);
else if (before !== after) problems.push("docs/security.md is out of date. Run node scripts/security-map.ts --write");
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
