import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Argon2 } from "./argon2.ts";
import { isBcrypt, verifyBcrypt } from "./bcrypt.ts";
import { SALT_BYTES } from "./hash-parameters.ts";
import { type Argon2Hash, type Argon2Parameters, formatPhc, parsePhc } from "./phc.ts";

const DUMMY_SALT = randomBytes(SALT_BYTES);

/** The hash of no password known to anyone: nothing has to be computed for it, and nothing matches it. */
function dummy(parameters: Argon2Parameters): Argon2Hash {
  return { parameters, salt: DUMMY_SALT, tag: randomBytes(parameters.tagBytes) };
}

/**
 * Makes the hash of a password, with a salt of its own.
 *
 * @returns a PHC string
 */
export function makeHash(argon2: Argon2, plain: string, parameters: Argon2Parameters): string {
  const salt = randomBytes(SALT_BYTES);
  return formatPhc({ parameters, salt, tag: argon2(plain, salt, parameters) });
}

/**
 * Tells whether a hash was made of this password. A text that is no hash matches nothing, and takes as long as a hash
 * with the parameters of today.
 */
export function matchesHash(argon2: Argon2, hash: string, plain: string, today: Argon2Parameters): boolean {
  if (isBcrypt(hash)) return verifyBcrypt(hash, plain);
  const { parameters, salt, tag } = parsePhc(hash) ?? dummy(today);
  return timingSafeEqual(argon2(plain, salt, parameters), tag);
}
