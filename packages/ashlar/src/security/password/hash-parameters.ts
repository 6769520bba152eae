import { type Argon2Parameters, readPhc } from "./phc.ts";

/** How passwords are hashed by default: the minimum that OWASP recommends. */
export const DEFAULT_PARAMETERS: Argon2Parameters = Object.freeze({
  variant: "argon2id",
  memory: 19_456,
  passes: 2,
  parallelism: 1,
  tagBytes: 32,
});
export const SALT_BYTES = 16;

const NAMES = Object.keys(DEFAULT_PARAMETERS) as (keyof Argon2Parameters)[];

/**
 * Reports whether a hash was made in any other way than with these parameters: other Argon2 parameters, bcrypt, or
 * anything else.
 */
export function differsFrom(parameters: Argon2Parameters, hash: string): boolean {
  const made = readPhc(hash);
  if (made === null || made.saltBytes < SALT_BYTES) return true;
  return NAMES.some((name) => made.parameters[name] !== parameters[name]);
}
