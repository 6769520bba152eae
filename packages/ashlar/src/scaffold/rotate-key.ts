import { isDeepStrictEqual, parseEnv } from "node:util";
import { secretProblem, splitSecrets } from "../security/index.ts";
import { AshlarError, readEnvFile } from "../support/index.ts";
import { replaceEnvFile, withEnvFile, withVariables } from "./env-file.ts";

const MAX_PREVIOUS_KEYS = 5;

/**
 * Gives `APP_KEY` of a `.env` file another value and puts the old one at the front of `APP_PREVIOUS_KEYS`, which keeps
 * the newest 5. Every other line stays as it is, and the file is replaced in one step.
 *
 * @param key the new key
 * @returns whether it was done: `false` where there is no key to keep, and nothing was written
 * @throws `E_COMMAND` where the old key cannot be kept; nothing is written then, and no key is in the message
 */
export function rotateKey(path: string, key: string): Promise<boolean> {
  return withEnvFile(path, () => rotate(path, key));
}

async function rotate(path: string, key: string): Promise<boolean> {
  const text = readEnvFile(path) ?? "";
  const { APP_KEY: old = "", APP_PREVIOUS_KEYS: list = "" } = parseEnv(text);
  if (old === "") return false;
  requireKept(old);
  const earlier = splitSecrets(list).filter((entry) => entry !== "" && entry !== old);
  const previous = [old, ...earlier].slice(0, MAX_PREVIOUS_KEYS);
  const after = withVariables(text, { APP_KEY: key, APP_PREVIOUS_KEYS: previous.join(",") });
  // What is read is what counts: a variable may stand there twice or over several lines, or a key need quotes.
  if (list.includes("\n") || after === null) {
    throw refusal(
      "APP_KEY or APP_PREVIOUS_KEYS stands there twice or over several lines, or has a # or quotes in it.",
      "Change the two lines by hand.",
    );
  }
  await replaceEnvFile(path, after);
  return true;
}

function requireKept(old: string): void {
  const problem = secretProblem(old);
  if (problem !== null) {
    throw refusal(
      `The secret in APP_KEY ${problem} No application accepts it as a previous key.`,
      "Empty its line and run: npx ashlar key:generate",
    );
  }
  if (!isDeepStrictEqual(splitSecrets(old), [old])) {
    throw refusal(
      "APP_KEY has a comma in it, which separates the keys in APP_PREVIOUS_KEYS.",
      "List it in previousKeys of APP in config/app.ts, empty its line and run: npx ashlar key:generate",
    );
  }
}

function refusal(problem: string, remedy: string): AshlarError {
  return new AshlarError("E_COMMAND", `.env was left as it is. ${problem} ${remedy}`);
}
