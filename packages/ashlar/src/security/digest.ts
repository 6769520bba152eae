import { hash, randomFillSync, timingSafeEqual } from "node:crypto";
import { AshlarError } from "../support/index.ts";

const MIN_TOKEN_BYTES = 16;
const MAX_TOKEN_BYTES = 1024;

/**
 * Returns the SHA-256 digest of a token, as 43 characters of base64url. Store it instead of the token.
 *
 * Security: for random tokens only. Hash passwords, and anything else that a person chose, with `hashPassword`.
 */
export function digest(value: string): string {
  return hash("sha256", value, "base64url");
}

/** Compares two digests in constant time. */
export function digestEquals(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}

/**
 * Generates a token with the system's generator, as base64url.
 *
 * @param bytes the number of random bytes, from 16 to 1024; default: 32
 * @throws `E_INVALID_CONFIGURATION` if `bytes` is out of range or not an integer
 */
export function randomToken(bytes = 32): string {
  if (!Number.isSafeInteger(bytes) || bytes < MIN_TOKEN_BYTES || bytes > MAX_TOKEN_BYTES) {
    const problem = `A random token must have between ${MIN_TOKEN_BYTES} and ${MAX_TOKEN_BYTES} bytes.`;
    throw new AshlarError("E_INVALID_CONFIGURATION", problem);
  }
  return takeRandomBytes(bytes).toString("base64url");
}

const POOL_BYTES = 4096;

// Must not be a slice of Node's shared buffer pool, which other code writes to.
const pool = Buffer.allocUnsafeSlow(POOL_BYTES);
let taken = POOL_BYTES;

/**
 * Returns random bytes from the system's generator. They are taken from a supply that is refilled 4096 bytes at a time,
 * because calling the generator costs far more than producing a few bytes. `crypto.randomUUID` does the same.
 *
 * Security: bytes are wiped from the supply once returned.
 *
 * @param size the number of bytes, from 0 to 4096
 */
export function takeRandomBytes(size: number): Buffer {
  if (taken + size > POOL_BYTES) {
    randomFillSync(pool);
    taken = 0;
  }
  const bytes = Buffer.from(pool.subarray(taken, taken + size));
  pool.fill(0, taken, taken + size);
  taken += size;
  return bytes;
}
