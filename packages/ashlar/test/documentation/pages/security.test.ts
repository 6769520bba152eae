import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../../support/samples.ts";

const read = (path: string): Promise<string> => readFile(join(REPOSITORY, "docs", path), "utf8");

/** The rows of a page's tables, without their heads: the cells of each. */
async function rowsOf(page: string): Promise<string[][]> {
  const lines = (await read(page)).split("\n").filter((line) => line.startsWith("| "));
  return lines
    .map((line) => line.slice(2, -2).split(" | "))
    .filter(([head]) => !["attack", "requirement"].includes(head!));
}

/** The numbers of the properties that have tests: `npm run check` compares their list with the titles of the tests. */
async function properties(): Promise<string[]> {
  return [...(await read("security.md")).matchAll(/^\| (S\d+) \|.*\| `[^|]+\|$/gm)].map(([, number]) => number!);
}

test("each attack on the page has properties with tests, and each property has an attack", async () => {
  const known = await properties();
  expect(known.length).toBeGreaterThan(60);
  const rows = await rowsOf("guides/security.md");
  const named = rows.map((row) => row[2]!.split(", "));
  expect(rows.length).toBeGreaterThan(50);
  expect(named.flat().filter((number) => !known.includes(number))).toEqual([]);
  expect(known.filter((number) => !named.flat().includes(number))).toEqual([]);
});

test("each ASVS requirement that counts as met names properties with tests", async () => {
  const known = await properties();
  const rows = (await rowsOf("guides/asvs.md")).filter((row) => row.length === 4);
  expect(rows.length).toBeGreaterThan(60);
  for (const [requirement, level, , numbers] of rows) {
    expect([requirement, level]).toEqual([expect.stringMatching(/^\d+\.\d+\.\d+/), expect.stringMatching(/^[123]$/)]);
    expect(numbers!.split(", ").filter((number) => !known.includes(number))).toEqual([]);
  }
});

test("no ASVS requirement is in two of its tables", async () => {
  const numbers = (await rowsOf("guides/asvs.md")).flatMap(
    ([requirement]) => requirement!.match(/\d+\.\d+\.\d+/g) ?? [],
  );
  expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([]);
});

test("the limit on attempts at an account is a new application's", async () => {
  const stub = await readFile(join(REPOSITORY, "packages/ashlar/stubs/application/config/throttle.ts.stub"), "utf8");
  expect(stub).toContain('{ by: ["account", "address"], attempts: 5, windowSeconds: 5 * 60 }');
  expect(await read("guides/security.md")).toContain("Five attempts in five minutes for an account from one address");
});
