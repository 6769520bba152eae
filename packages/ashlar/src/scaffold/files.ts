import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AshlarError } from "../support/index.ts";

/** A file to be written: its path relative to the application's root, and its text. */
export interface NewFile {
  readonly path: string;
  readonly text: string;
}

/**
 * Writes a file that must not be there yet.
 *
 * @returns whether it was written: `false` where a file of that name exists, which is left as it is
 */
export async function writeNewFile(root: string, { path, text }: NewFile): Promise<boolean> {
  const target = join(root, path);
  await mkdir(dirname(target), { recursive: true });
  try {
    await writeFile(target, text, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Makes sure that a folder can take a new application.
 *
 * @throws `E_COMMAND` where it exists and has something in it besides a repository's own files
 */
export async function requireEmptyFolder(folder: string): Promise<void> {
  const harmless = new Set([".git", ".gitkeep", ".DS_Store", "LICENSE", "README.md"]);
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const others = entries.filter((entry) => !harmless.has(entry));
  if (others.length > 0) {
    throw new AshlarError(
      "E_COMMAND",
      `The folder ${folder} is not empty (${others.slice(0, 3).join(", ")}${others.length > 3 ? ", …" : ""}). ` +
        "Nothing was written: choose another folder, or empty this one.",
    );
  }
}
