import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../packages/ashlar/test/support/temporary-folder.ts";

const SCRIPT = join(import.meta.dirname, "feature-reference.ts");
const PAGES = [
  "docs/reference/features.md",
  "docs/reference/doors.md",
  "docs/reference/events.md",
  "docs/guides/limits.md",
] as const;
type Pages = Record<(typeof PAGES)[number], string>;

const pagesIn = (folder: string): Pages =>
  Object.fromEntries(PAGES.map((page) => [page, readFileSync(join(folder, page), "utf8")])) as Pages;
const CURRENT = pagesIn(join(import.meta.dirname, ".."));

/** Runs the script on these pages; the others are up to date. Returns its problems, and the pages that it leaves. */
function run(pages: Partial<Pages>, ...args: string[]) {
  const folder = folderWith({ ...CURRENT, ...pages });
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { cwd: folder, encoding: "utf8" });
  return { status, problems: stderr.split("\n").filter(Boolean), pages: pagesIn(folder) };
}

/** Pages that each repeat something that no feature declares anymore. */
const OUTDATED: Pages = {
  "docs/reference/features.md": `${CURRENT["docs/reference/features.md"]}More.\n`,
  "docs/reference/doors.md": `${CURRENT["docs/reference/doors.md"]}More.\n`,
  "docs/reference/events.md": CURRENT["docs/reference/events.md"].replace(
    "| `Session` | `SessionProvider` |",
    "| `Session` | `AuthProvider` |",
  ),
  "docs/guides/limits.md": CURRENT["docs/guides/limits.md"].replace("| 40 per 24 h by account |", "| 7 per 1 h |"),
};

test("outdated pages are problems, and --write updates only what is outdated in them", () => {
  for (const page of PAGES) expect(OUTDATED[page]).not.toBe(CURRENT[page]);
  const problems = PAGES.map((page) => `${page} is out of date. Run node scripts/feature-reference.ts --write`);
  expect(run(OUTDATED)).toEqual({ status: 1, problems, pages: OUTDATED });
  expect(run(OUTDATED, "--write")).toEqual({ status: 0, problems: [], pages: CURRENT });
});

test.each([
  ["docs/guides/limits.md", "| Limit | Account | Buckets", "| Limit | Accounts | Buckets"],
  ["docs/reference/events.md", "| Property | Type | Added by |", "| Property | Type | Brought by |"],
] as const)("if a table of %s isn't found, that is a problem, and --write writes nothing", (page, head, other) => {
  const pages = { ...OUTDATED, [page]: CURRENT[page].replace(head, other) };
  expect(pages[page]).not.toBe(CURRENT[page]);
  expect(run(pages, "--write")).toEqual({
    status: 1,
    problems: [`${page} has no table that begins with ${head}`],
    pages,
  });
});

test("a limit that the guide lacks is a problem, and --write writes nothing", () => {
  const pages = {
    ...OUTDATED,
    "docs/guides/limits.md": CURRENT["docs/guides/limits.md"].replace(/\n\| `login\.account\.slow` .*/, ""),
  };
  expect(run(pages, "--write")).toEqual({
    status: 1,
    problems: ["docs/guides/limits.md lacks the limit login.account.slow."],
    pages,
  });
});
