import { isDeepStrictEqual, parseEnv } from "node:util";
import { secretProblem, splitSecrets } from "../../security/index.ts";
import { AshlarError, readEnvFile } from "../../support/index.ts";
import { replaceEnvFile, withEnvFile, withVariables } from "../files/env-file.ts";

const MAX_PREVIOUS_KEYS = 5;
const STAGED = "APP_NEXT_KEY already holds a staged key.";
const PROMOTE =
  "Once every process runs with it, run: npx ashlar key:generate --promote. If the keys have leaked, so has this one: " +
  "empty APP_NEXT_KEY, and run this again.";

/** The keys in a `.env` file; empty text if one is not set. */
interface Keys {
  readonly APP_KEY: string;
  readonly APP_NEXT_KEY: string;
  readonly APP_PREVIOUS_KEYS: string;
}

/**
 * Replaces `APP_KEY` in a `.env` file and moves the old one to the front of `APP_PREVIOUS_KEYS`, which keeps the newest 5.
 * All other lines stay unchanged, and the file is replaced in one step.
 *
 * @param key the new key
 * @returns `false`, without writing anything, if there is no old key
 * @throws `E_COMMAND` without writing anything, if the old key cannot be kept, or another one is staged; the message
 * doesn't contain a key
 */
export function rotateKey(path: string, key: string): Promise<boolean> {
  return changeKeys(path, (keys) => {
    if (keys.APP_NEXT_KEY !== "") throw refusal(STAGED, PROMOTE);
    return replaced(keys, key);
  });
}

/**
 * Writes a new key to `APP_NEXT_KEY` in a `.env` file. Processes accept values created with this key, but don't create
 * any with it yet. This is the first of two steps that replace a key while old and new processes run side by side; see
 * {@link promoteKey}.
 *
 * @param key the new key
 * @returns the same as {@link rotateKey}, which also lists the errors
 */
export function stageKey(path: string, key: string): Promise<boolean> {
  return changeKeys(path, (keys) => {
    if (keys.APP_NEXT_KEY !== "") throw refusal(STAGED, PROMOTE);
    // If the old key can't be kept, report it now instead of when the new key is promoted.
    requireKept(keys.APP_KEY);
    return { APP_NEXT_KEY: key };
  });
}

/**
 * Makes the staged key in `APP_NEXT_KEY` the current one, and the old one the first previous key.
 *
 * @returns `false`, without writing anything, if there is no current key
 * @throws `E_COMMAND` if no key is staged, or as {@link rotateKey}
 */
export function promoteKey(path: string): Promise<boolean> {
  return changeKeys(path, (keys) => {
    const next = keys.APP_NEXT_KEY;
    if (next === "") {
      throw refusal("APP_NEXT_KEY is empty: no key is staged.", "Run: npx ashlar key:generate --rotate --stage");
    }
    const problem = secretProblem(next);
    if (problem !== null)
      throw refusal(`The secret in APP_NEXT_KEY ${problem}`, "Clear its value and stage another key.");
    return { ...replaced(keys, next), APP_NEXT_KEY: "" };
  });
}

/** The variables that make `key` the current one. */
function replaced({ APP_KEY: old, APP_PREVIOUS_KEYS: list }: Keys, key: string): Partial<Keys> {
  requireKept(old);
  const earlier = splitSecrets(list).filter((entry) => entry !== "" && entry !== old);
  const previous = [old, ...earlier].slice(0, MAX_PREVIOUS_KEYS);
  return { APP_KEY: key, APP_PREVIOUS_KEYS: previous.join(",") };
}

function changeKeys(path: string, change: (keys: Keys) => Partial<Keys>): Promise<boolean> {
  return withEnvFile(path, async () => {
    const text = readEnvFile(path) ?? "";
    const { APP_KEY = "", APP_NEXT_KEY = "", APP_PREVIOUS_KEYS = "" } = parseEnv(text);
    if (APP_KEY === "") return false;
    const after = withVariables(text, change({ APP_KEY, APP_NEXT_KEY, APP_PREVIOUS_KEYS }));
    // The result is parsed again to be sure: a variable may be set twice or on several lines, or a key may need quotes.
    if (APP_PREVIOUS_KEYS.includes("\n") || after === null) {
      throw refusal(
        "APP_KEY, APP_NEXT_KEY or APP_PREVIOUS_KEYS is set twice, spans several lines, or contains a # or quotes.",
        "Edit these lines by hand.",
      );
    }
    await replaceEnvFile(path, after);
    return true;
  });
}

function requireKept(old: string): void {
  const problem = secretProblem(old);
  if (problem !== null) {
    throw refusal(
      `The secret in APP_KEY ${problem} No application accepts it as a previous key.`,
      "Clear its value and run: npx ashlar key:generate",
    );
  }
  if (!isDeepStrictEqual(splitSecrets(old), [old])) {
    throw refusal(
      "APP_KEY contains a comma, which separates the keys in APP_PREVIOUS_KEYS.",
      "Add it to APP.previousKeys in config/app.ts, clear its value in .env, and run: npx ashlar key:generate",
    );
  }
}

function refusal(problem: string, remedy: string): AshlarError {
  return new AshlarError("E_COMMAND", `.env was not changed. ${problem} ${remedy}`);
}
