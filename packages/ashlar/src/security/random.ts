import { randomFillSync } from "node:crypto";

const POOL_BYTES = 4096;

// Not a slice of Node's shared buffer pool, which other code writes to.
const pool = Buffer.allocUnsafeSlow(POOL_BYTES);
let taken = POOL_BYTES;

/**
 * Returns random bytes from the system's generator, taken from a supply that is refilled 4096 bytes at a time: calling
 * the generator costs far more than producing a few bytes. `crypto.randomUUID` does the same.
 *
 * Security: bytes are wiped from the supply once returned.
 *
 * @param size how many bytes, from 0 to 4096
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
