import { readFile, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual, parseEnv } from "node:util";
import { AshlarError, readEnvFile } from "../../support/index.ts";
import { replaceFile } from "./files.ts";

/** How often and at what interval to retry while another process has locked the file: 10 seconds in total. */
const LOCK_ATTEMPTS = 500;
const LOCK_RETRY_MS = 20;
/** The byte order mark that some editors put at the start of a UTF-8 file. */
const MARK = Buffer.from("\uFEFF");

/**
 * Replaces a `.env` file in one step. Readers find either the old text or the new one, even if the machine crashes in
 * between. The byte order mark, owner and group are kept. Security: afterwards, only the owner can read the file.
 */
export async function replaceEnvFile(path: string, text: string): Promise<void> {
  const before = await orNull(readFile(path));
  await replaceFile(path, before?.subarray(0, 3).equals(MARK) === true ? `\uFEFF${text}` : text, 0o600);
}

/**
 * Runs a function that reads and replaces a `.env` file, while holding a lock on it. Without the lock, one process
 * could overwrite a key that another process has just written and already uses.
 *
 * @throws `E_COMMAND` if another process holds the lock for too long, or exited without releasing it
 */
export async function withEnvFile<T>(path: string, task: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  for (let attempt = 0; !(await tookLock(lock)); attempt++) {
    const holder = Number(await orNull(readFile(lock, "utf8")));
    // The owner is unknown, because the lock was released in the meantime, or isn't written yet.
    const isKnown = Number.isSafeInteger(holder) && holder > 0;
    if (attempt === LOCK_ATTEMPTS || (isKnown && !isAlive(holder))) {
      const problem = `${path} was not changed: process ${isKnown ? holder : "unknown"} has locked it.`;
      throw new AshlarError(
        "E_COMMAND",
        `${problem} If that process has exited, remove ${lock} and run the command again.`,
      );
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
 * Returns the text of a `.env` file with variables set, each on its existing line, or else on a new line at the end.
 * All other lines and the line endings stay unchanged, and so do `export` and a comment on the line.
 *
 * @returns `null` if parsing the text would not result in these values, because a name is set twice, a value has
 * several lines, or a value needs quotes
 */
export function withVariables(text: string, values: Readonly<Record<string, string>>): string | null {
  const present = variablesOf(text);
  // Only the first line of a multi-line value would be replaced, and the rest of a key would stay in the file.
  const isWhole = (name: string, [line]: RegExpExecArray) => variablesOf(line)[name] === present[name];
  for (const name of Object.keys(values)) {
    const found = lineOf(name).exec(text);
    if (found !== null && !isWhole(name, found)) return null;
  }
  const after = Object.entries(values).reduce((before, [name, value]) => withVariable(before, name, value), text);
  return isDeepStrictEqual(variablesOf(after), { ...present, ...values }) ? after : null;
}

/** Matches a variable's line, and captures what precedes the name, and a comment. */
function lineOf(name: string): RegExp {
  const exact = name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const value = "(?:\"[^\"\r\n]*\"|'[^'\r\n]*'|`[^`\r\n]*`|[^#\\s][^#\r\n]*?)?";
  return new RegExp(`^([ \\t]*(?:export[ \\t]+)?)${exact}[ \\t]*=[ \\t]*?${value}([ \\t]*#.*|[ \\t]*)$`, "m");
}

/**
 * Parses the text of a `.env` file. Node 26 parses `export NAME=` without a value as a variable named `export NAME`.
 */
export function variablesOf(text: string): NodeJS.Dict<string> {
  return { ...parseEnv(text.replace(/^([ \t]*)export[ \t]+/gm, "$1")) };
}

function withVariable(text: string, name: string, value: string): string {
  // A value with line breaks, such as a PEM key, is written on one line: between quotes, `\n` is a line break.
  const written = value.includes("\n") ? JSON.stringify(value) : value;
  const present = lineOf(name);
  if (present.test(text)) {
    return text.replace(present, (_, begin: string, end: string) => `${begin}${name}=${written}${end.trimEnd()}`);
  }
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  return `${text}${text === "" || text.endsWith("\n") ? "" : end}${name}=${written}${end}`;
}

/**
 * Sets the variables for which a `.env` file has no value. Fills in a line `NAME=` if there is one, or else appends a
 * line. All other lines stay unchanged.
 *
 * @param path the file; created if missing, readable only by its owner
 * @param values the values by name
 * @param template the text that a new file starts with. Security: its values for these variables are ignored, because a
 * value in the repository is not a secret
 * @returns the names of the variables that were set
 * @throws `E_INVALID_CONFIGURATION` if the file exists but cannot be read; `E_COMMAND` if the values cannot be written
 */
export async function setMissingVariables(
  path: string,
  values: Readonly<Record<string, string>>,
  template = "",
): Promise<string[]> {
  // If there is nothing to write, the folder doesn't have to be writable.
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
      `.env was not ${written === null ? "created from .env.example" : "changed"}. ${names.join(" or ")} is set twice, or appears ` +
        "inside another value, such as one whose quote isn't closed. Edit the file by hand.",
    );
  }
  await replaceEnvFile(path, text);
  return names;
}

/** The names without a value in a file's text. */
export function missingOf(text: string | null, values: Readonly<Record<string, string>>): string[] {
  const present = text === null ? {} : variablesOf(text);
  return Object.keys(values).filter((name) => (present[name] ?? "") === "");
}

async function orNull<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
