import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { unifiedDiff } from "./unified-diff.ts";

const numbers = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}\n`).join("");

test("texts that are the same have no difference", () => {
  expect(unifiedDiff("a.ts", "a\n", "a\n")).toEqual([]);
});

test("a new file is all added", () => {
  expect(unifiedDiff("a.ts", null, "a\nb\n")).toEqual(["--- /dev/null", "+++ b/a.ts", "@@ -0,0 +1,2 @@", "+a", "+b"]);
});

test("a changed line stands among three lines on either side", () => {
  expect(unifiedDiff("a.ts", numbers(1, 9), numbers(1, 9).replace("5\n", "five\n"))).toEqual([
    "--- a/a.ts",
    "+++ b/a.ts",
    "@@ -2,7 +2,7 @@",
    " 2",
    " 3",
    " 4",
    "-5",
    "+five",
    " 6",
    " 7",
    " 8",
  ]);
});

test("changes that are far apart are apart, and those whose surroundings touch are one", () => {
  const before = numbers(1, 30);
  const heads = (after: string) => unifiedDiff("a.ts", before, after).filter((line) => line.startsWith("@@"));
  expect(heads(before.replace("\n3\n", "\n").replace("\n28\n", "\n28\nnew\n"))).toEqual([
    "@@ -1,6 +1,5 @@",
    "@@ -26,5 +25,6 @@",
  ]);
  expect(heads(before.replace("\n10\n", "\n").replace("\n16\n", "\n"))).toEqual(["@@ -7,13 +7,11 @@"]);
});

test("git makes of the old text the new one with it, whatever the two are", async () => {
  const root = await temporaryFolder();
  const file = join(root, "a.txt");
  const text = fc
    .array(fc.constantFrom("a", "b", "c", "", "-", "+x"), { minLength: 1, maxLength: 25 })
    .map((lines) => lines.map((line) => `${line}\n`).join(""));
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      fc.pre(before !== after);
      await writeFile(file, before);
      const input = `${unifiedDiff("a.txt", before, after).join("\n")}\n`;
      execFileSync("git", ["apply", "--whitespace=nowarn", "-"], { cwd: root, input });
      expect(await readFile(file, "utf8")).toBe(after);
    }),
    { numRuns: 40 },
  );
});
