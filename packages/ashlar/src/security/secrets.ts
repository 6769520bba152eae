import { randomBytes } from "node:crypto";
import { ConfigurationError } from "../support/index.ts";

const MIN_SECRET_BYTES = 32;
const GENERATED_BYTES = 64;
/** Random text of 32 characters has fewer distinct ones less than once in ten million, even of digits alone. */
const MIN_DISTINCT_CHARACTERS = 6;

/** Tells whether a text is a shorter piece written again and again, such as `secretsecretsecret`. */
function isRepetition(text: string): boolean {
  for (let period = 1; period * 2 <= text.length; period++) {
    if (text.startsWith(text.slice(period))) return true;
  }
  return false;
}

/**
 * Says what makes a secret unfit to derive keys from, in words that follow its name ("is shorter than …").
 *
 * It can tell what is certainly weak; that the rest is random, only the one who made it knows.
 *
 * @returns the problem, or `null` where none is seen; the secret itself is never in it
 */
export function secretProblem(secret: string | null | undefined): string | null {
  if (secret === null || secret === undefined || secret === "") return "is not set.";
  if (Buffer.byteLength(secret) < MIN_SECRET_BYTES) return `is shorter than ${MIN_SECRET_BYTES} bytes.`;
  if (secret.includes("-----BEGIN")) return "holds a PEM key, where random text belongs.";
  if (new Set(secret).size < MIN_DISTINCT_CHARACTERS || isRepetition(secret)) return "is not random.";
  return null;
}

/**
 * Gives a secret back, provided that it is fit to derive keys from.
 *
 * @param secret what the configuration holds
 * @param name where it comes from, such as `APP_KEY`
 * @param remedy the command or line that mends it
 * @throws `E_WEAK_SECRET` where it is missing, shorter than 32 bytes, a PEM key, or visibly not random
 */
export function requireSecret(
  secret: string | null | undefined,
  name: string,
  remedy = "Make one with `npx ashlar key:generate`.",
): string {
  const problem = secretProblem(secret);
  if (problem !== null) throw new ConfigurationError(name, `the secret ${problem}`, remedy, "E_WEAK_SECRET");
  return secret as string;
}

/**
 * Takes apart a list of secrets as a variable has it: separated by commas, blanks around them left out.
 *
 * @returns the entries in their places; one with nothing in it is the empty text, and counts for nothing
 */
export function splitSecrets(list: string): string[] {
  return list.split(",").map((entry) => entry.trim());
}

/** Makes a secret: 64 bytes from the system's generator, as 86 characters of base64url. */
export function generateSecret(): string {
  return randomBytes(GENERATED_BYTES).toString("base64url");
}
