import { randomBytes } from "node:crypto";
import { readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual, parseEnv } from "node:util";
import { AshlarError, readEnvFile } from "../support/index.ts";

/** How often, and how long apart, a file is asked for that another process works on: 10 seconds in all. */
const LOCK_ATTEMPTS = 500;
const LOCK_RETRY_MS = 20;

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
 * Runs a function that reads a `.env` file and replaces it, while no other process does. Of two that did so at once, one
 * would undo what the other wrote: a key that is in use by then.
 *
 * @throws `E_COMMAND` if another process keeps it for long, or has left its lock behind
 */
export async function withEnvFile<T>(path: string, task: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  for (let attempt = 0; !(await tookLock(lock)); attempt++) {
    const holder = Number(await orNothing(readFile(lock, "utf8")));
    // Gone since, or not written to yet.
    const isKnown = Number.isSafeInteger(holder) && holder > 0;
    if (attempt === LOCK_ATTEMPTS || (isKnown && !isAlive(holder))) {
      const problem = `${path} was left as it is: process ${isKnown ? holder : "unknown"} has locked it.`;
      throw new AshlarError("E_COMMAND", `${problem} If it has ended, remove ${lock} and run the command again.`);
    }
    await sleep(LOCK_RETRY_MS);
  }
  try {
    return await task();
  } finally {
    await rm(lock, { force: true });
  }
}

async function tookLock(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
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
  // Where there is nothing to write the folder need not be writable.
  if (missingOf(readEnvFile(path), values).length === 0) return [];
  return await withEnvFile(path, () => fillMissing(path, values, template));
}

async function fillMissing(
  path: string,
  values: Readonly<Record<string, string>>,
  template: string,
): Promise<string[]> {
  const written = readEnvFile(path);
  const names = missingOf(written, values);
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

/** The names that a file's text gives no value. */
function missingOf(text: string | null, values: Readonly<Record<string, string>>): string[] {
  const present = text === null ? {} : variablesOf(text);
  return Object.keys(values).filter((name) => (present[name] ?? "") === "");
}

async function orNothing(reading: Promise<string>): Promise<string | null> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
