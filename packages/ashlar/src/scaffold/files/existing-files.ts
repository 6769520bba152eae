import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The text of a file; `null` if it doesn't exist. */
export async function readIfThere(root: string, file: string): Promise<string | null> {
  try {
    return await readFile(join(root, file), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** The text of a file without its comments. Lines keep their numbers. */
export async function codeOf(root: string, file: string): Promise<string> {
  const text = (await readIfThere(root, file)) ?? "";
  return text.replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, (comment) => comment.replaceAll(/[^\n]/g, ""));
}

/**
 * Returns the JavaScript file that replaces a TypeScript file in `config/` or `routes/`, where only one of the two may exist;
 * `null` if there isn't one.
 */
export async function javaScriptOf(root: string, file: string): Promise<string | null> {
  if (!/^(?:config|routes)\/.+\.ts$/.test(file)) return null;
  const name = file.replace(/\.ts$/, ".js");
  return (await readIfThere(root, name)) === null ? null : name;
}
