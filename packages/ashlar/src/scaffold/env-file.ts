import { randomBytes } from "node:crypto";
import { readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { parseEnv } from "node:util";

/**
 * The text of a `.env` file.
 *
 * @returns `null` where there is no file
 */
export async function readEnvFile(path: string): Promise<string | null> {
  return orNothing(readFile(path, "utf8"));
}

/**
 * Puts a text into the place of a `.env` file in one step, readable by its owner alone: whoever reads it finds the old
 * text or the new one, also where the machine stops in between.
 */
export async function replaceEnvFile(path: string, text: string): Promise<void> {
  // A link to the file must stay one.
  const target = (await orNothing(realpath(path))) ?? path;
  const draft = `${target}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await writeFile(draft, text, { flag: "wx", mode: 0o600, flush: true });
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** The text of a `.env` file in which a variable has this value: where its line stands, else on a line at the end. */
export function withVariable(text: string, name: string, value: string): string {
  const line = `${name}=${value}`;
  const present = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, "m");
  if (present.test(text)) return text.replace(present, () => line);
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${line}\n`;
}

/**
 * Gives a variable of a `.env` file a value, provided that it has none yet. A line `NAME=` without a value is filled in;
 * otherwise a line is appended. Every other line stays as it is.
 *
 * @param path the file; made, readable by its owner alone, where there is none
 * @returns whether the value was written: `false` where the variable already had one
 */
export async function setMissingVariable(path: string, name: string, value: string): Promise<boolean> {
  const text = (await readEnvFile(path)) ?? "";
  if ((parseEnv(text)[name] ?? "") !== "") return false;
  await replaceEnvFile(path, withVariable(text, name, value));
  return true;
}

async function orNothing(reading: Promise<string>): Promise<string | null> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
