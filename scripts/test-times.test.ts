import { expect, test } from "vitest";
import { type FileTimes, timesPage } from "./test-times/table.ts";

const times = (file: string, own: number, started: number, serves = 0): FileTimes => ({
  file,
  own,
  started,
  programs: serves === 0 ? {} : { "node ashlar.js serve": { count: serves, seconds: started } },
});

const rowsOf = (page: string): string[] => page.match(/^\| (?:\w+\.test\.ts|`).+$/gm) ?? [];

test("the files of a run are sorted by their time, with the programs that they started", () => {
  const records = [times("a.test.ts", 1, 0), times("b.test.ts", 2, 8, 10), times("a.test.ts", 0.5, 0)];
  const page = timesPage([{ name: "seconds", records }]);
  expect(page).toContain("2 files, in all:\nseconds 12 s.");
  expect(rowsOf(page)).toEqual([
    "| b.test.ts | 10.0 |",
    "| a.test.ts | 1.5 |",
    "| `node ashlar.js serve` | 10 | 8.0 |",
  ]);
});

test("two runs are compared by the files that are in both", () => {
  const before = [times("a.test.ts", 1, 0), times("b.test.ts", 2, 8, 10), times("gone.test.ts", 4, 9, 9)];
  const after = [times("b.test.ts", 2, 4, 5), times("a.test.ts", 0.5, 0), times("new.test.ts", 50, 0)];
  const page = timesPage([
    { name: "before", records: before },
    { name: "after", records: after },
  ]);
  expect(page).toContain("2 files, in all:\nbefore 11 s, after 7 s.");
  expect(rowsOf(page)).toEqual([
    "| b.test.ts | 10.0 | 6.0 |",
    "| a.test.ts | 1.0 | 0.5 |",
    "| `node ashlar.js serve` | 10 | 8.0 | 5 | 4.0 |",
  ]);
});
