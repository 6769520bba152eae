import { hash, timingSafeEqual } from "node:crypto";
import { AshlarError } from "../support/index.ts";
import { takeRandomBytes } from "./random.ts";

const MIN_TOKEN_BYTES = 16;
const MAX_TOKEN_BYTES = 1024;

/**
 * Returns the SHA-256 digest of a token, as 43 characters of base64url, to be stored instead of the token.
 *
 * Security: for random tokens only. Hash passwords, and anything else a person chose, with `hashPassword`.
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
 * @param bytes how much randomness it contains, from 16 to 1024 bytes; default: 32
 * @throws `E_INVALID_CONFIGURATION` if `bytes` is out of range or not an integer
 */
export function randomToken(bytes = 32): string {
  if (!Number.isSafeInteger(bytes) || bytes < MIN_TOKEN_BYTES || bytes > MAX_TOKEN_BYTES) {
    const problem = `A random token must have between ${MIN_TOKEN_BYTES} and ${MAX_TOKEN_BYTES} bytes.`;
    throw new AshlarError("E_INVALID_CONFIGURATION", problem);
  }
  return takeRandomBytes(bytes).toString("base64url");
}
