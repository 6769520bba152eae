import { randomBytes } from "node:crypto";
import { ConfigurationError } from "../support/index.ts";
import "./errors.ts";

const MIN_SECRET_BYTES = 32;
const GENERATED_BYTES = 64;
/** Fewer than one random text of 32 characters in ten million has fewer distinct characters, even if all are digits. */
const MIN_DISTINCT_CHARACTERS = 6;

/** Reports whether a text is a shorter piece repeated, such as `secretsecretsecret`. */
function isRepetition(text: string): boolean {
  for (let period = 1; period * 2 <= text.length; period++) {
    if (text.startsWith(text.slice(period))) return true;
  }
  return false;
}

/**
 * Explains why a secret is unfit to derive keys from, in words that follow its name ("is shorter than …").
 *
 * It only detects secrets that are certainly weak; it cannot tell whether the others are random.
 *
 * @returns the problem, or `null` if none was found; never contains the secret itself
 */
export function secretProblem(secret: string | null | undefined): string | null {
  if (secret === null || secret === undefined || secret === "") return "is not set.";
  if (Buffer.byteLength(secret) < MIN_SECRET_BYTES) return `is shorter than ${MIN_SECRET_BYTES} bytes.`;
  if (secret.includes("-----BEGIN")) return "contains a PEM key instead of random text.";
  if (new Set(secret).size < MIN_DISTINCT_CHARACTERS || isRepetition(secret)) return "is not random.";
  return null;
}

/**
 * Returns a secret if it is fit to derive keys from.
 *
 * @param secret the configured value
 * @param name the name of its variable, such as `APP_KEY`
 * @param remedy the command or line that fixes it
 * @throws `E_WEAK_SECRET` if it is missing, shorter than 32 bytes, a PEM key, or visibly not random
 */
export function requireSecret(
  secret: string | null | undefined,
  name: string,
  remedy = "Generate one with `npx ashlar key:generate`.",
): string {
  const problem = secretProblem(secret);
  if (problem !== null) throw new ConfigurationError(name, `the secret ${problem}`, remedy, "E_WEAK_SECRET");
  return secret as string;
}

/**
 * Splits a variable's comma-separated list of secrets, trimming each.
 *
 * @returns the entries in order; an empty entry becomes empty text, which the caller must ignore
 */
export function splitSecrets(list: string): string[] {
  return list.split(",").map((entry) => entry.trim());
}

/** Generates a secret: 64 bytes from the system's generator, as 86 characters of base64url. */
export function generateSecret(): string {
  return randomBytes(GENERATED_BYTES).toString("base64url");
}
