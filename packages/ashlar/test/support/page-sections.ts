import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { edit } from "./generated-application.ts";
import { pageFiles } from "./page-files.ts";
import { markdownSamples, REPOSITORY } from "./samples.ts";

/**
 * Does in an application what a section of a page says: writes its complete files, and makes the changes that its fences
 * of the language `diff` show. Such a fence begins with the path of a file, `--- config/auth.ts`, and can go on with others; the lines after it,
 * without the ones that begin with a plus, are in the file exactly once. `@@` separates places in the file.
 *
 * @param root the application's folder
 * @param page the Markdown file, relative to the repository
 * @param heading the section's heading, of the second level
 * @throws if the page has no such section, or a change does not fit the file
 */
export async function followSection(root: string, page: string, heading: string): Promise<void> {
  const lines = (await readFile(join(REPOSITORY, page), "utf8")).split("\n");
  const start = lines.indexOf(`## ${heading}`);
  if (start === -1) throw new Error(`${page} has no section "${heading}".`);
  const next = lines.findIndex((line, index) => index > start && line.startsWith("## "));
  const end = next === -1 ? lines.length : next;
  const isInSection = ({ line }: { readonly line: number }): boolean => line > start && line <= end;
  for (const { path, text } of (await pageFiles(page)).filter(isInSection)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  for (const { code, language } of (await markdownSamples(page)).filter(isInSection)) {
    if (language === "diff") await applyDiff(root, code);
  }
}

async function applyDiff(root: string, code: string): Promise<void> {
  for (const change of code.split(/^(?=--- )/m)) {
    const [head = "", ...lines] = change.trimEnd().split("\n");
    const path = /^--- ([\w./@-]+)$/.exec(head)?.[1];
    if (path === undefined) throw new Error(`A change begins with "--- <path>", not with ${head}`);
    for (const place of places(lines)) await changePlace(root, path, place);
  }
}

async function changePlace(root: string, path: string, place: readonly string[]): Promise<void> {
  const before = linesOf(place, "-");
  const text = await readFile(join(root, path), "utf8");
  if (before === "" || text.split(before).length !== 2) {
    throw new Error(`${path} has these lines not exactly once:\n${before}`);
  }
  await edit(root, path, [before, linesOf(place, "+")]);
}

/** The lines of a place that are unchanged, or begin with a sign, without their first character. */
function linesOf(place: readonly string[], sign: "+" | "-"): string {
  return place
    .filter((line) => line === "" || line.startsWith(" ") || line.startsWith(sign))
    .map((line) => line.slice(1))
    .join("\n");
}

function places(lines: readonly string[]): string[][] {
  const all: string[][] = [[]];
  for (const line of lines) {
    if (line === "@@") all.push([]);
    else all.at(-1)!.push(line);
  }
  return all.filter((place) => place.length > 0);
}
