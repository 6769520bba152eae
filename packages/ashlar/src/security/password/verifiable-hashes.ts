// Inspects hashes without computing any. Only the hashing threads load the code for that.
import { randomBytes } from "node:crypto";
import { formatSaltAndTag, readPhc, SALT_BYTES } from "./argon2-hash.ts";
import { isPbkdf2 } from "./imported/pbkdf2.ts";
import { isScrypt } from "./imported/scrypt.ts";

/** Salt (22 characters) and hash (31) in bcrypt's alphabet; the cost in two digits. */
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const MIN_COST = 4;
/** Each step doubles the work. A cost of 14 already takes seconds, and a planted 31 would take days. */
const MAX_COST = 14;

/** Reports whether a text is a bcrypt hash with a cost from 4 to 14: `$2a$`, `$2b$` or `$2y$`. */
export function isBcrypt(hash: string): boolean {
  const cost = Number(BCRYPT.exec(hash)?.[1]);
  return cost >= MIN_COST && cost <= MAX_COST;
}

const BCRYPT_ALPHABET = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BCRYPT_SALT_AND_HASH = 53;
const TAG_BYTES = 32;

/**
 * Reports whether `argon2id()` and `verifyPassword` can verify a stored hash: Argon2, bcrypt, scrypt or PBKDF2, in the
 * form and within the limits described in `argon2id`. Import scripts use it to find the users who need a new password.
 *
 * ```ts
 * const kept = isVerifiableHash("$2y$12$RAFo8aqXRkzcVzHYOYcRIO4W1q6uFEoo1rZsV6k/5dMcmjSvHGQHe");
 * ```
 */
export function isVerifiableHash(hash: string): boolean {
  return isBcrypt(hash) || isScrypt(hash) || isPbkdf2(hash) || readPhc(hash) !== null;
}

/**
 * Creates a hash of an unknown password, in the form that other software uses.
 *
 * @param beginning the beginning of the other software's hashes, up to the salt: `$2y$12$`, `$scrypt$n=16384,r=8,p=1$`
 * @returns `null` if no verifiable hash begins like that
 */
export function unknownHash(beginning: string): string | null {
  const characters = Array.from(randomBytes(BCRYPT_SALT_AND_HASH), (byte) => BCRYPT_ALPHABET[byte % 64]);
  const asBcrypt = `${beginning}${characters.join("")}`;
  if (isBcrypt(asBcrypt)) return asBcrypt;
  const asPhc = `${beginning}${formatSaltAndTag(randomBytes(SALT_BYTES), randomBytes(TAG_BYTES))}`;
  return isVerifiableHash(asPhc) ? asPhc : null;
}
