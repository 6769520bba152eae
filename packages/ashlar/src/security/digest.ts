import { hash, timingSafeEqual } from "node:crypto";
import { AshlarError } from "../support/index.ts";
import { takeRandomBytes } from "./random.ts";

const MIN_TOKEN_BYTES = 16;
const MAX_TOKEN_BYTES = 1024;

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
 * @param bytes how much randomness it holds, from 16 to 1024 bytes; 32 where left out
 * @throws `E_INVALID_CONFIGURATION` where `bytes` is out of that range or not an integer
 */
export function randomToken(bytes = 32): string {
  if (!Number.isSafeInteger(bytes) || bytes < MIN_TOKEN_BYTES || bytes > MAX_TOKEN_BYTES) {
    const problem = `A random token holds from ${MIN_TOKEN_BYTES} to ${MAX_TOKEN_BYTES} bytes.`;
    throw new AshlarError("E_INVALID_CONFIGURATION", problem);
  }
  return takeRandomBytes(bytes).toString("base64url");
}
