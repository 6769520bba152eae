import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { markdownSamples, type Sample } from "./samples.ts";

/** A file that a manual page shows in full. */
export interface PageFile {
  /** Its path in an application, such as `routes/web.ts`. */
  readonly path: string;
  /** Its text, without the line that names the path. */
  readonly text: string;
  /** The page's line on which it begins. */
  readonly line: number;
}

/** How a code block's first line names its file, in each language's comments. */
const PATH =
  /^(?:\/\/|#|\{\{--|<!--|--|\/\*)\s*((?:[\w.@-]+\/)*(?:[\w.@-]*\.[\w.-]+|Dockerfile|Caddyfile))\s*(?:--\}\}|-->|\*\/)?$/;

/** The manual's folders whose pages show complete files. A test follows each of these pages. */
export const PAGES: readonly string[] = ["docs/tutorial", "docs/guides", "docs/coming-from"];

/** Whether a sample is one of a page's complete files, which that page's test compiles and runs in an application. */
export function isPageFile({ file, code }: Sample): boolean {
  return PAGES.some((folder) => file.startsWith(`${folder}/`)) && pathOf(code) !== null;
}

/**
 * The complete files that a page shows, in order: every code block whose first line is a comment with only a path.
 *
 * @param page the Markdown file, relative to the repository, such as `docs/guides/pages.md`
 */
export async function pageFiles(page: string): Promise<PageFile[]> {
  return (await markdownSamples(page)).flatMap(({ code, line }) => {
    const file = fileIn(code);
    return file === null ? [] : [{ ...file, line }];
  });
}

/** The complete file that a code block shows, or `null` if its first line doesn't name one. */
export function fileIn(code: string): Omit<PageFile, "line"> | null {
  const path = pathOf(code);
  return path === null ? null : { path, text: `${code.slice(code.indexOf("\n") + 1).replace(/^\n+/, "")}\n` };
}

/** The path in a code block's first line, or `null` if it isn't a complete file. */
export function pathOf(code: string): string | null {
  const [head = ""] = code.split("\n");
  return PATH.exec(head)?.[1] ?? null;
}

/** Writes a page's file to an application. */
export async function writePageFile(root: string, { path, text }: Omit<PageFile, "line">): Promise<void> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

/**
 * Writes a page's complete files to an application, as a reader would. If the page shows a file twice, the second
 * replaces the first.
 *
 * @param root the application's folder
 * @returns the paths written
 */
export async function followPage(root: string, page: string): Promise<string[]> {
  const files = await pageFiles(page);
  for (const file of files) await writePageFile(root, file);
  return files.map(({ path }) => path);
}
