import { type Argon2Parameters, readPhc } from "./phc.ts";

/** How passwords are hashed today, the minimum that OWASP recommends: 19 MiB, two passes, one lane. */
export const PARAMETERS: Argon2Parameters = Object.freeze({
  variant: "argon2id",
  memory: 19_456,
  passes: 2,
  parallelism: 1,
  tagBytes: 32,
});
export const SALT_BYTES = 16;

const NAMES = Object.keys(PARAMETERS) as (keyof Argon2Parameters)[];

/**
 * Tells whether a hash was made otherwise than it would be now, so that the next login should replace it: other
 * parameters of Argon2, bcrypt, anything unknown.
 */
export function needsRehash(hash: string): boolean {
  const made = readPhc(hash);
  if (made === null || made.saltBytes < SALT_BYTES) return true;
  return NAMES.some((name) => made.parameters[name] !== PARAMETERS[name]);
}
