import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Argon2 } from "./argon2.ts";
import { isBcrypt, verifyBcrypt } from "./bcrypt.ts";
import { PARAMETERS, SALT_BYTES } from "./hash-parameters.ts";
import { type Argon2Hash, formatPhc, parsePhc } from "./phc.ts";

/** The hash of no password known to anyone: nothing has to be computed for it, and nothing matches it. */
const DUMMY: Argon2Hash = {
  parameters: PARAMETERS,
  salt: randomBytes(SALT_BYTES),
  tag: randomBytes(PARAMETERS.tagBytes),
};

/**
 * Makes the hash of a password, with the parameters of today and a salt of its own.
 *
 * @returns a PHC string of 97 characters
 */
export function makeHash(argon2: Argon2, plain: string): string {
  const salt = randomBytes(SALT_BYTES);
  return formatPhc({ parameters: PARAMETERS, salt, tag: argon2(plain, salt, PARAMETERS) });
}

/**
 * Tells whether a password is the one that a hash was made of. A text that is no hash matches nothing, and takes as long
 * as a hash of today.
 */
export function matchesHash(argon2: Argon2, hash: string, plain: string): boolean {
  if (isBcrypt(hash)) return verifyBcrypt(hash, plain);
  const { parameters, salt, tag } = parsePhc(hash) ?? DUMMY;
  return timingSafeEqual(argon2(plain, salt, parameters), tag);
}
