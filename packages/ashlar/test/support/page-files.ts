import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { markdownSamples, type Sample } from "./samples.ts";

/** A file that a page of the manual shows from its first line to its last. */
export interface PageFile {
  /** Where it belongs in an application, such as `routes/web.ts`. */
  readonly path: string;
  /** Its text, without the line that names the path. */
  readonly text: string;
  /** The line of the page on which it begins. */
  readonly line: number;
}

/** How the first line of a fence names the file that it shows, in the comments of each language. */
const PATH =
  /^(?:\/\/|#|\{\{--|<!--|--|\/\*)\s*((?:[\w.@-]+\/)*(?:[\w.@-]*\.[\w.-]+|Dockerfile|Caddyfile))\s*(?:--\}\}|-->|\*\/)?$/;

/** The folders of the manual whose pages show complete files. A test follows each of these pages. */
export const PAGES: readonly string[] = ["docs/tutorial", "docs/guides", "docs/coming-from"];

/** Whether a sample is a complete file of a page, which a test of that page compiles and runs where it belongs. */
export function isPageFile({ file, code }: Sample): boolean {
  return PAGES.some((folder) => file.startsWith(`${folder}/`)) && pathOf(code) !== null;
}

/**
 * The complete files that a page shows, in order: each fence whose first line is a comment with nothing but a path.
 *
 * @param page the Markdown file, relative to the repository, such as `docs/guides/pages.md`
 */
export async function pageFiles(page: string): Promise<PageFile[]> {
  return (await markdownSamples(page)).flatMap(({ code, line }) => {
    const file = fileIn(code);
    return file === null ? [] : [{ ...file, line }];
  });
}

/** The complete file that a fence shows; `null` if its first line doesn't name one. */
export function fileIn(code: string): Omit<PageFile, "line"> | null {
  const path = pathOf(code);
  return path === null ? null : { path, text: `${code.slice(code.indexOf("\n") + 1).replace(/^\n+/, "")}\n` };
}

/** The path that the first line of a fence names; `null` if it is not a complete file. */
export function pathOf(code: string): string | null {
  const [head = ""] = code.split("\n");
  return PATH.exec(head)?.[1] ?? null;
}

/** Writes a file of a page into an application. */
export async function writePageFile(root: string, { path, text }: Omit<PageFile, "line">): Promise<void> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

/**
 * Writes the complete files of a page into an application, as its reader would. Where the page shows a file twice, the
 * later one replaces the earlier one.
 *
 * @param root the application's folder
 * @returns the paths written
 */
export async function followPage(root: string, page: string): Promise<string[]> {
  const files = await pageFiles(page);
  for (const file of files) await writePageFile(root, file);
  return files.map(({ path }) => path);
}
