import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";

const repository = join(import.meta.dirname, "../../../..");
const packageFolder = join(repository, "packages/ashlar");
const FOLDERS = [repository, packageFolder, join(packageFolder, "src")];
/** The files that a table says an addition would create. */
const ADDED = /^\|[^|]+\|([^|]+)\| \d/gm;
/** A line of the drawing of the layers: the layer's number, if it begins there, and its folders. */
const DRAWN = /^ {4}(?: ?(\d+)| {2}) {2}((?:[\w-]+\/ +)+)/gm;
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

test("ARCHITECTURE.md draws the layers that npm run layers checks, the lowest at the bottom", async () => {
  const document = await readFile(join(repository, "ARCHITECTURE.md"), "utf8");
  const { layers } = await import(pathToFileURL(join(repository, ".dependency-cruiser.mjs")).href);
  const drawn: { number: number; folders: string[] }[] = [];
  for (const [, number, names = ""] of document.matchAll(DRAWN)) {
    const folders = names.split("/").map((name) => name.trim());
    // A layer's second line has no number.
    if (number === undefined) drawn.at(-1)?.folders.push(...folders.slice(0, -1));
    else drawn.push({ number: Number(number), folders: folders.slice(0, -1) });
  }
  const checked = (layers as string[][]).map((folders, number) => ({ number, folders: folders.toSorted() }));
  expect(drawn.map(({ number, folders }) => ({ number, folders: folders.toSorted() }))).toEqual(checked.toReversed());
});

test("ARCHITECTURE.md lists every decision, in order, with its title", async () => {
  const document = await readFile(join(repository, "ARCHITECTURE.md"), "utf8");
  const listed = [...document.matchAll(/^(\d+)\. \[(.*)\]\(docs\/decisions\/(.*)\)$/gm)];
  const files = (await readdir(join(repository, "docs/decisions"))).filter((file) => /^\d/.test(file)).toSorted();
  expect(listed.map(([, , , file]) => file)).toEqual(files);
  for (const [, number, title, file = ""] of listed) {
    expect(file).toMatch(new RegExp(`^0*${number}-`));
    const text = await readFile(join(repository, "docs/decisions", file), "utf8");
    expect(text.split("\n")[0]).toBe(`# ${title}`);
  }
});

/** The paths in backticks: files and folders with a folder in front. */
function pathsIn(text: string): string[] {
  const paths = [...text.matchAll(/`([\w.-]+\/[\w./-]*(?:\/|\.(?:ts|js|md|mjs))|[a-z]+\/)`/g)].map(
    ([, path = ""]) => path,
  );
  return [...new Set(paths)];
}
