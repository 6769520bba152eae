import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";

const repository = join(import.meta.dirname, "../../../..");
const packageFolder = join(repository, "packages/ashlar");
const FOLDERS = [repository, packageFolder, join(packageFolder, "src")];
/** What a table says an addition would create. */
const ADDED = /^\|[^|]+\|([^|]+)\| \d/gm;
/** An application's files, and modules as another file names them. */
const ELSEWHERE = /^(?:config|lang)\/|^\.\./;

test("every file and folder that ARCHITECTURE.md names exists", async () => {
  const document = await readFile(join(repository, "ARCHITECTURE.md"), "utf8");
  const additions = new Set([...document.matchAll(ADDED)].flatMap(([, cell = ""]) => pathsIn(cell)));
  const paths = pathsIn(document).filter((path) => !additions.has(path) && !ELSEWHERE.test(path));
  expect(additions.size).toBeGreaterThan(5);
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !FOLDERS.some((folder) => existsSync(join(folder, path))))).toEqual([]);
});

/** The paths in backticks: files and folders with a folder in front. */
function pathsIn(text: string): string[] {
  const paths = [...text.matchAll(/`([\w.-]+\/[\w./-]*(?:\/|\.(?:ts|js|md|mjs))|[a-z]+\/)`/g)].map(
    ([, path = ""]) => path,
  );
  return [...new Set(paths)];
}
