import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { changed, pageChanges } from "./page-changes.ts";
import { pageFiles, writePageFile } from "./page-files.ts";
import { markdownSamples, REPOSITORY } from "./samples.ts";

/**
 * Follows a section of a page in an application: writes its complete files, and makes the changes in its `diff` code
 * blocks.
 *
 * @param root the application's folder
 * @param page the Markdown file, relative to the repository
 * @param heading the section's heading, of the second level
 * @throws if the page has no such section, or a change doesn't match the file
 */
export async function followSection(root: string, page: string, heading: string): Promise<void> {
  const lines = (await readFile(join(REPOSITORY, page), "utf8")).split("\n");
  const start = lines.indexOf(`## ${heading}`);
  if (start === -1) throw new Error(`${page} has no section "${heading}".`);
  const next = lines.findIndex((line, index) => index > start && line.startsWith("## "));
  const end = next === -1 ? lines.length : next;
  const isInSection = ({ line }: { readonly line: number }): boolean => line > start && line <= end;
  for (const file of (await pageFiles(page)).filter(isInSection)) await writePageFile(root, file);
  for (const { code, language } of (await markdownSamples(page)).filter(isInSection)) {
    if (language !== "diff") continue;
    for (const change of pageChanges(code)) {
      const file = join(root, change.path);
      await writeFile(file, changed(await readFile(file, "utf8"), change));
    }
  }
}
