import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import type { Installation } from "../../scaffold/index.ts";
import type { Terminal } from "../terminal.ts";
import { printDiff, printWritten, unifiedDiff } from "./print-changes.ts";

const numbers = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}\n`).join("");

test("equal texts have no difference", async () => {
  expect(await unifiedDiff("a.ts", "a\n", "a\n")).toEqual([]);
});

test("a new file is added completely", async () => {
  expect(await unifiedDiff("a.ts", null, "a\nb\n")).toEqual([
    "--- /dev/null",
    "+++ b/a.ts",
    "@@ -0,0 +1,2 @@",
    "+a",
    "+b",
  ]);
});

test("a changed line has three lines of context on either side", async () => {
  expect(await unifiedDiff("a.ts", numbers(1, 9), numbers(1, 9).replace("5\n", "five\n"))).toEqual([
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

test("distant changes are separate hunks, and changes with touching context are one", async () => {
  const before = numbers(1, 30);
  const heads = async (after: string) =>
    (await unifiedDiff("a.ts", before, after)).filter((line) => line.startsWith("@@"));
  expect(await heads(before.replace("\n3\n", "\n").replace("\n28\n", "\n28\nnew\n"))).toEqual([
    "@@ -1,6 +1,5 @@",
    "@@ -26,5 +25,6 @@",
  ]);
  expect(await heads(before.replace("\n10\n", "\n").replace("\n16\n", "\n"))).toEqual(["@@ -7,13 +7,11 @@"]);
});

test("git applies the difference to any old text and gets the new one", async () => {
  const root = await temporaryFolder();
  const file = join(root, "a.txt");
  const text = fc
    .array(fc.constantFrom("a", "b", "c", "", "-", "+x"), { minLength: 1, maxLength: 25 })
    .map((lines) => lines.map((line) => `${line}\n`).join(""));
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      fc.pre(before !== after);
      await writeFile(file, before);
      const input = `${(await unifiedDiff("a.txt", before, after)).join("\n")}\n`;
      execFileSync("git", ["apply", "--whitespace=nowarn", "-"], { cwd: root, input });
      expect(await readFile(file, "utf8")).toBe(after);
    }),
    { numRuns: 40 },
  );
});

/** The lines printed for a plan. */
async function printed(print: (terminal: Terminal) => unknown): Promise<string[]> {
  const lines: string[] = [];
  await print({ root: "/nowhere", print: (line = "") => void lines.push(line), printError: () => {} });
  return lines;
}

test("a plan that only changes .env is reported without the file's content", async () => {
  const plan: Installation = { files: [], environment: "JWT_SECRET=secret\n", remaining: [] };
  expect(await printed((terminal) => printDiff(terminal, plan))).toEqual(["Variables would be added to .env."]);
  expect(await printed((terminal) => printWritten(terminal, plan))).toEqual(["Changed .env"]);
});

test("a plan without changes is reported as already in place", async () => {
  const plan: Installation = { files: [], environment: null, remaining: [] };
  const line = "Everything is already in place; nothing ";
  expect(await printed((terminal) => printDiff(terminal, plan))).toEqual([`${line}would be changed.`]);
  expect(await printed((terminal) => printWritten(terminal, plan))).toEqual([`${line}was changed.`]);
});
