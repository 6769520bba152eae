import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { AshlarError } from "../support/index.ts";

const MIN_TOKEN_BYTES = 16;

/**
 * The SHA-256 digest of a token, as 43 characters of base64url: what a table stores in the token's place.
 *
 * Security: for random tokens only. What a person thought up is hashed with `hashPassword`.
 */
export function digest(value: string): string {
  return hash("sha256", value, "base64url");
}

/** Compares two digests in a time that does not depend on where they differ. */
export function digestEquals(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}

/**
 * Makes a token from the system's generator, as base64url.
 *
 * @param bytes how much randomness it holds, at least 16 bytes; 32 where left out
 * @throws `E_INVALID_CONFIGURATION` where `bytes` is less than 16 or not an integer
 */
export function randomToken(bytes = 32): string {
  if (!Number.isSafeInteger(bytes) || bytes < MIN_TOKEN_BYTES) {
    throw new AshlarError("E_INVALID_CONFIGURATION", `A random token holds at least ${MIN_TOKEN_BYTES} bytes.`);
  }
  return randomBytes(bytes).toString("base64url");
}
