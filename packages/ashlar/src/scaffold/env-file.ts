import { randomBytes } from "node:crypto";
import { realpath, rename, rm, writeFile } from "node:fs/promises";
import { isDeepStrictEqual, parseEnv } from "node:util";
import { AshlarError, readEnvFile } from "../support/index.ts";

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

/**
 * The text of a `.env` file in which variables have these values: each where its line stands, else on a line at the end.
 * Every other line stays as it is, and so do the ends of lines.
 *
 * @returns `null` if reading the text would not give these values: a name that stands there twice, a value over several
 * lines, or one that needs quotes
 */
export function withVariables(text: string, values: Readonly<Record<string, string>>): string | null {
  const after = Object.entries(values).reduce((before, [name, value]) => withVariable(before, name, value), text);
  return isDeepStrictEqual(variablesOf(after), { ...variablesOf(text), ...values }) ? after : null;
}

/** The variables of a text. Node 26 takes `export NAME=` without a value for a variable named `export NAME`. */
function variablesOf(text: string): NodeJS.Dict<string> {
  return { ...parseEnv(text.replace(/^([ \t]*)export[ \t]+/gm, "$1")) };
}

function withVariable(text: string, name: string, value: string): string {
  const line = `${name}=${value}`;
  const present = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, "m");
  if (present.test(text)) return text.replace(present, () => line);
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  return `${text}${text === "" || text.endsWith("\n") ? "" : end}${line}${end}`;
}

/**
 * Gives variables of a `.env` file values, as far as they have none yet. A line `NAME=` without a value is filled in;
 * otherwise a line is appended. Every other line stays as it is.
 *
 * @param path the file; made, readable by its owner alone, if there is none
 * @param values by name
 * @param template the text that a new file begins with. Security: what it says about these variables does not count; a
 * value in a file that is in the repository is not a secret
 * @returns the names that were given a value
 * @throws `E_INVALID_CONFIGURATION` if there is a file that cannot be read; `E_COMMAND` if the values cannot be written
 */
export async function setMissingVariables(
  path: string,
  values: Readonly<Record<string, string>>,
  template = "",
): Promise<string[]> {
  const written = readEnvFile(path);
  const present = written === null ? {} : variablesOf(written);
  const names = Object.keys(values).filter((name) => (present[name] ?? "") === "");
  if (names.length === 0) return [];
  const missing = Object.fromEntries(names.map((name) => [name, values[name]!]));
  const text = withVariables(written ?? template, missing);
  if (text === null) {
    throw new AshlarError(
      "E_COMMAND",
      `.env was left as it is. ${names.join(" or ")} stands there twice or inside of another value. Mend its line by hand.`,
    );
  }
  await replaceEnvFile(path, text);
  return names;
}

async function orNothing(reading: Promise<string>): Promise<string | null> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
