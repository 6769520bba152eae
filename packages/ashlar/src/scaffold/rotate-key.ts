import { isDeepStrictEqual, parseEnv } from "node:util";
import { secretProblem, splitSecrets } from "../security/index.ts";
import { AshlarError, readEnvFile } from "../support/index.ts";
import { replaceEnvFile, withEnvFile, withVariables } from "./env-file.ts";

const MAX_PREVIOUS_KEYS = 5;

/**
 * Replaces `APP_KEY` in a `.env` file and moves the old one to the front of `APP_PREVIOUS_KEYS`, which keeps the newest 5.
 * All other lines stay unchanged, and the file is replaced in one step.
 *
 * @param key the new key
 * @returns `false` if there is no old key; nothing is written then
 * @throws `E_COMMAND` if the old key cannot be kept; nothing is written then, and the message doesn't contain a key
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
  // The result is parsed again to be sure: a variable may be set twice or on several lines, or a key may need quotes.
  if (list.includes("\n") || after === null) {
    throw refusal(
      "APP_KEY or APP_PREVIOUS_KEYS is set twice, spans several lines, or contains a # or quotes.",
      "Edit the two lines by hand.",
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
