import { pbkdf2Sync } from "node:crypto";
import { MAX_LENGTH, measureSaltAndTag } from "../argon2-hash.ts";

const PBKDF2 = /^\$pbkdf2-(sha1|sha256|sha512)\$i=([1-9]\d{0,6})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/**
 * OWASP's highest recommendation is 1.4 million, for SHA-1. With this many iterations, a login takes about a second per
 * block.
 */
const MAX_ITERATIONS = 2_000_000;

/** A PBKDF2 hash (RFC 8018 §5.2), with its bytes still encoded. */
interface Pbkdf2Hash {
  readonly digest: string;
  readonly iterations: number;
  readonly salt: string;
  readonly tag: string;
}

function readPbkdf2(hash: string): Pbkdf2Hash | null {
  if (hash.length > MAX_LENGTH) return null;
  const match = PBKDF2.exec(hash);
  if (match === null) return null;
  const [, digest, i, salt, tag] = match;
  const iterations = Number(i);
  if (iterations > MAX_ITERATIONS || measureSaltAndTag(salt!, tag!) === null) return null;
  return { digest: digest!, iterations, salt: salt!, tag: tag! };
}

/** Reports whether a text is a PBKDF2 hash that costs no more than a login may. */
export function isPbkdf2(hash: string): boolean {
  return readPbkdf2(hash) !== null;
}

/**
 * Computes the tag of a password with the parameters and the salt of a hash. It is slow: never call it on the event loop.
 *
 * @param hash a hash that {@link isPbkdf2} accepts
 * @returns the computed tag, and the tag in the hash
 */
export function pbkdf2Tags(hash: string, plain: string): readonly [computed: Buffer, stored: Buffer] {
  const { digest, iterations, salt, tag } = readPbkdf2(hash)!;
  const stored = Buffer.from(tag, "base64");
  return [pbkdf2Sync(plain, Buffer.from(salt, "base64"), iterations, stored.length, digest), stored];
}
