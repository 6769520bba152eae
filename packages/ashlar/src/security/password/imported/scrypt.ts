import { scryptSync } from "node:crypto";
import { MAX_LENGTH, measureSaltAndTag } from "../argon2-hash.ts";

/**
 * A scrypt hash's cost (RFC 7914), with its bytes still encoded.
 *
 * `nfkc=1` is for software that normalizes passwords before hashing them.
 */
interface ScryptHash {
  readonly cost: number;
  readonly blockSize: number;
  readonly parallelization: number;
  readonly normalizes: boolean;
  readonly salt: string;
  readonly tag: string;
}

const SCRYPT =
  /^\$scrypt\$(?:n=([1-9]\d{0,7})|ln=([1-9]\d?)),r=([1-9]\d{0,2}),p=([1-9]\d?)(,nfkc=1)?\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/**
 * As with Argon2, a hash contains its own cost, so it is limited: to 256 MiB, and to four times the work that OWASP
 * recommends.
 */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_WORK = 4 * 2 ** 17 * 8;
const MAX_PARALLELIZATION = 16;
/** Node refuses a hash that may take more memory. The blocks of all lanes are added to the limit. */
const NODE_MAX_BYTES = 2 * MAX_BYTES;

function readScrypt(hash: string): ScryptHash | null {
  if (hash.length > MAX_LENGTH) return null;
  const match = SCRYPT.exec(hash);
  if (match === null) return null;
  const [, n, ln, r, p, nfkc, salt, tag] = match;
  const cost = n === undefined ? 2 ** Number(ln) : Number(n);
  const blockSize = Number(r);
  const parallelization = Number(p);
  // It must be a power of two above 1, and less than 2^(128 · r / 8) (RFC 7914 §2). Node refuses anything else.
  if (cost < 2 || !Number.isInteger(Math.log2(cost)) || cost >= 2 ** (16 * blockSize)) return null;
  if (parallelization > MAX_PARALLELIZATION) return null;
  if (128 * cost * blockSize > MAX_BYTES || cost * blockSize * parallelization > MAX_WORK) return null;
  if (measureSaltAndTag(salt!, tag!) === null) return null;
  return { cost, blockSize, parallelization, normalizes: nfkc !== undefined, salt: salt!, tag: tag! };
}

/** Reports whether a text is a scrypt hash that costs no more than a login may. */
export function isScrypt(hash: string): boolean {
  return readScrypt(hash) !== null;
}

/**
 * Computes the tag of a password with the parameters and the salt of a hash. It is slow: never call it on the event loop.
 *
 * @param hash a hash that {@link isScrypt} accepts
 * @returns the computed tag, and the tag in the hash
 */
export function scryptTags(hash: string, plain: string): readonly [computed: Buffer, stored: Buffer] {
  const { cost: N, blockSize: r, parallelization: p, normalizes, salt, tag } = readScrypt(hash)!;
  const stored = Buffer.from(tag, "base64");
  const options = { N, r, p, maxmem: NODE_MAX_BYTES };
  const message = normalizes ? plain.normalize("NFKC") : plain;
  return [scryptSync(message, Buffer.from(salt, "base64"), stored.length, options), stored];
}
