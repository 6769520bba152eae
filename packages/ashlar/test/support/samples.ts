import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";

/** The repository. */
export const REPOSITORY: string = join(import.meta.dirname, "../../../..");

/** Packages and generated pages. */
const NOT_WRITTEN_HERE = /(?:^|[\\/])(?:node_modules|docs[\\/]reference[\\/]api|docs[\\/]\.vitepress)(?:[\\/]|$)/;

/** Code that a document shows: in a doc comment of the source, or in Markdown. */
export interface Sample {
  /** Its file, relative to the repository's root. */
  readonly file: string;
  /** The line of its first line of code. */
  readonly line: number;
  /** Its language: `ts`, `sh`, or empty. */
  readonly language: string;
  readonly code: string;
}

/** The code in the doc comments of TypeScript files, in order. */
export async function docCommentSamples(...folders: readonly string[]): Promise<Sample[]> {
  const found: Sample[] = [];
  for (const file of await filesOf(folders, (name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))) {
    found.push(...fencesOf(file, onlyComments(await readFile(join(REPOSITORY, file), "utf8"))));
  }
  return found;
}

/** The code blocks in Markdown files, in order. */
export async function markdownSamples(...paths: readonly string[]): Promise<Sample[]> {
  const found: Sample[] = [];
  for (const file of await filesOf(paths, (name) => /\.md(?:\.stub)?$/.test(name))) {
    found.push(...fencesOf(file, await readFile(join(REPOSITORY, file), "utf8")));
  }
  return found;
}

/** The text of the doc comments without the asterisks, on the same lines; all other lines are empty. */
function onlyComments(source: string): string {
  let isInside = false;
  const lines = source.split("\n").map((line) => {
    if (!isInside && /^\s*\/\*\*/.test(line)) isInside = true;
    if (!isInside) return "";
    if (line.includes("*/")) isInside = false;
    return line.replace(/^\s*\/?\*+\/?\s?/, "").replace(/\s*\*\/\s*$/, "");
  });
  return lines.join("\n");
}

function fencesOf(file: string, text: string): Sample[] {
  const samples: Sample[] = [];
  let open: { readonly indent: number; readonly language: string; readonly line: number; lines: string[] } | null =
    null;
  for (const [index, line] of text.split("\n").entries()) {
    const [fence, indent = "", language = ""] = /^(\s*)```\s*(\S*)/.exec(line) ?? [];
    if (fence === undefined) {
      open?.lines.push(line.slice(open.indent));
    } else if (open === null) {
      open = { indent: indent.length, language, line: index + 2, lines: [] };
    } else {
      samples.push({ file, line: open.line, language: open.language, code: open.lines.join("\n") });
      open = null;
    }
  }
  if (open !== null) throw new Error(`${file}: a fence is not closed.`);
  return samples;
}

async function filesOf(paths: readonly string[], matches: (name: string) => boolean): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
    if (matches(path)) {
      files.push(path);
      continue;
    }
    const entries = await readdir(join(REPOSITORY, path), { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      const file = join(path, relative(join(REPOSITORY, path), join(entry.parentPath, entry.name)));
      if (entry.isFile() && matches(entry.name) && !NOT_WRITTEN_HERE.test(file)) files.push(file);
    }
  }
  return files.map((file) => file.replaceAll("\\", "/")).toSorted();
}
