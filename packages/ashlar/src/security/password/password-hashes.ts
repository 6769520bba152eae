import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Argon2 } from "./argon2.ts";
import { isBcrypt, verifyBcrypt } from "./bcrypt.ts";
import { SALT_BYTES } from "./hash-parameters.ts";
import { type Argon2Hash, type Argon2Parameters, formatPhc, parsePhc } from "./phc.ts";

const DUMMY_SALT = randomBytes(SALT_BYTES);

/** The hash of an unknown password: nothing has to be computed for it, and nothing matches it. */
function dummy(parameters: Argon2Parameters): Argon2Hash {
  return { parameters, salt: DUMMY_SALT, tag: randomBytes(parameters.tagBytes) };
}

/**
 * Hashes a password with a new salt.
 *
 * @returns a PHC string
 */
export function makeHash(argon2: Argon2, plain: string, parameters: Argon2Parameters): string {
  const salt = randomBytes(SALT_BYTES);
  return formatPhc({ parameters, salt, tag: argon2(plain, salt, parameters) });
}

/**
 * Reports whether a hash was made from this password. A text that is not a hash never matches, and takes as long as a
 * hash with the current parameters.
 */
export function matchesHash(argon2: Argon2, hash: string, plain: string, today: Argon2Parameters): boolean {
  if (isBcrypt(hash)) return verifyBcrypt(hash, plain);
  const { parameters, salt, tag } = parsePhc(hash) ?? dummy(today);
  return timingSafeEqual(argon2(plain, salt, parameters), tag);
}
