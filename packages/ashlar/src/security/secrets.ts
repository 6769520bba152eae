import { randomBytes } from "node:crypto";
import { ConfigurationError } from "../support/index.ts";
import "./errors.ts";

const MIN_SECRET_BYTES = 32;
const GENERATED_BYTES = 64;
/**
 * Fewer than one in ten million random texts of 32 characters has fewer distinct characters than this, even if all are
 * digits.
 */
const MIN_DISTINCT_CHARACTERS = 6;

/** Reports whether a text consists of a repeated shorter text, such as `secretsecretsecret`. */
function isRepetition(text: string): boolean {
  for (let period = 1; period * 2 <= text.length; period++) {
    if (text.startsWith(text.slice(period))) return true;
  }
  return false;
}

/**
 * Explains why keys must not be derived from a secret, in words that follow its name ("is shorter than …").
 *
 * It only detects secrets that are certainly weak, and can't know whether others are random.
 *
 * @returns the problem, without the secret; `null` if none was found
 */
export function secretProblem(secret: string | null | undefined): string | null {
  if (secret === null || secret === undefined || secret === "") return "is not set.";
  if (Buffer.byteLength(secret) < MIN_SECRET_BYTES) return `is shorter than ${MIN_SECRET_BYTES} bytes.`;
  if (secret.includes("-----BEGIN")) return "contains a PEM key instead of random text.";
  if (new Set(secret).size < MIN_DISTINCT_CHARACTERS || isRepetition(secret)) return "is not random.";
  return null;
}

/**
 * Returns a secret if keys can be derived from it.
 *
 * @param secret the configured value
 * @param name the name of its variable, such as `APP_KEY`
 * @param remedy the command or line that fixes a weak secret
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
 * @returns the entries in order; an empty entry becomes `""`, which the caller must ignore
 */
export function splitSecrets(list: string): string[] {
  return list.split(",").map((entry) => entry.trim());
}

/** Generates a secret: 64 bytes from the system's generator, as 86 characters of base64url. */
export function generateSecret(): string {
  return randomBytes(GENERATED_BYTES).toString("base64url");
}
