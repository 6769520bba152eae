import { randomBytes } from "node:crypto";
import { requireSecret, splitSecrets } from "../../security/index.ts";
import { ConfigurationError, type EnvironmentVariables } from "../../support/index.ts";
import { inEnvFile } from "./application-url.ts";
import type { EnvironmentName } from "./environment-name.ts";

/**
 * Checks `APP_KEY`.
 *
 * @param hasRoot whether the application has a folder, and so a `.env` that can contain the key
 * @returns the key; a random one in tests, and in development without a folder, if it isn't set
 * @throws `E_WEAK_SECRET`
 */
export function readKey(key: string | undefined, name: EnvironmentName, hasRoot: boolean): string {
  if (!key) {
    const mayBeRandom = name === "test" || (name === "development" && !hasRoot);
    if (mayBeRandom) return randomBytes(32).toString("base64url");
    throw new ConfigurationError(
      "Environment variable APP_KEY",
      "is not set, and the keys of signed URLs and cookies are derived from it.",
      inEnvFile("Run: npx ashlar key:generate", hasRoot),
      "E_WEAK_SECRET",
    );
  }
  // The command doesn't change a variable that has a value.
  return requireSecret(key, "Environment variable APP_KEY", "Empty its line in .env. Run: npx ashlar key:generate");
}

/**
 * Checks `APP_NEXT_KEY`.
 *
 * @returns a list with the key, or an empty list
 * @throws `E_WEAK_SECRET`
 */
export function readNextKey(key: string | undefined): string[] {
  if (!key) return [];
  const remedy = "Empty its line in .env. Run: npx ashlar key:generate --rotate --stage";
  return [requireSecret(key, "Environment variable APP_NEXT_KEY", remedy)];
}

/**
 * Checks the previous keys.
 *
 * @param given `APP.previousKeys`; `null` to read `APP_PREVIOUS_KEYS`
 * @throws `E_WEAK_SECRET`
 */
export function readPreviousKeys(given: readonly string[] | null, environment: EnvironmentVariables): string[] {
  if (given !== null) return fitKeys(given, "config/app.ts: APP.previousKeys");
  return fitKeys(splitSecrets(environment.APP_PREVIOUS_KEYS ?? ""), "Environment variable APP_PREVIOUS_KEYS");
}

/** Skips blank entries. Errors give a weak key's position, never its value. */
function fitKeys(entries: readonly string[], where: string): string[] {
  const remedy = "Set it to a complete former APP_KEY, or remove the entry.";
  return entries.flatMap((entry, index) =>
    entry.trim() === "" ? [] : [requireSecret(entry, `${where}, entry ${index + 1}`, remedy)],
  );
}
