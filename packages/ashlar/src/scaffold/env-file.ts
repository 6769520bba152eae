import { chmod, readFile, writeFile } from "node:fs/promises";
import { parseEnv } from "node:util";

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/**
 * Gives a variable of a `.env` file a value, provided that it has none yet. A line `NAME=` without a value is filled in;
 * otherwise a line is appended. Every other line stays as it is.
 *
 * @param path the file; made, readable by its owner alone, where there is none
 * @returns whether the value was written: `false` where the variable already had one
 */
export async function setMissingVariable(path: string, name: string, value: string): Promise<boolean> {
  const text = await readIfThere(path);
  if (text !== null && (parseEnv(text)[name] ?? "") !== "") return false;
  const line = `${name}=${value}`;
  const blank = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, "m");
  const before = text ?? "";
  const after = blank.test(before)
    ? before.replace(blank, () => line)
    : `${before}${before === "" || before.endsWith("\n") ? "" : "\n"}${line}\n`;
  await writeFile(path, after, { mode: 0o600 });
  // The mode given to writeFile only counts for a new file; secrets are nobody else's to read in an old one either.
  await chmod(path, 0o600);
  return true;
}
