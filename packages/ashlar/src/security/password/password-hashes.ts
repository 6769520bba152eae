import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Argon2 } from "./argon2.ts";
import { type Argon2Hash, type Argon2Parameters, differsFrom, formatPhc, parsePhc, SALT_BYTES } from "./argon2-hash.ts";
import { verifyBcrypt } from "./imported/bcrypt.ts";
import { isPbkdf2, pbkdf2Tags } from "./imported/pbkdf2.ts";
import { isScrypt, scryptTags } from "./imported/scrypt.ts";
import { isBcrypt, isVerifiableHash } from "./verifiable-hashes.ts";

const DUMMY_SALT = randomBytes(SALT_BYTES);

/** A hash of an unknown password. It takes no computation to create, and no password matches it. */
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

/** Verifies a password with the parameters in the hash; an unknown hash costs as much as a current one. */
function verifies(argon2: Argon2, hash: string, plain: string, today: Argon2Parameters): boolean {
  if (isBcrypt(hash)) return verifyBcrypt(hash, plain);
  if (isScrypt(hash)) return timingSafeEqual(...scryptTags(hash, plain));
  if (isPbkdf2(hash)) return timingSafeEqual(...pbkdf2Tags(hash, plain));
  const { parameters, salt, tag } = parsePhc(hash) ?? dummy(today);
  return timingSafeEqual(argon2(plain, salt, parameters), tag);
}

/**
 * Reports whether a hash was created from this password. Text that is not a hash never matches, and takes as long as a
 * hash with the current parameters.
 *
 * @param imported an example of an imported hash. Every password is then verified with the parameters of both, so that
 *   imported, current and unknown hashes take equally long
 */
export function matchesHash(
  argon2: Argon2,
  hash: string,
  plain: string,
  today: Argon2Parameters,
  imported: string | null = null,
): boolean {
  const fits = verifies(argon2, hash, plain, today);
  if (imported === null) return fits;
  const isImported = isVerifiableHash(hash) && differsFrom(today, hash);
  verifies(argon2, isImported ? "" : imported, plain, today);
  return fits;
}
