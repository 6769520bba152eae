import { randomFillSync } from "node:crypto";

const POOL_BYTES = 4096;

// Not a slice of Node's shared pool of buffers, which others write to.
const pool = Buffer.allocUnsafeSlow(POOL_BYTES);
let taken = POOL_BYTES;

/**
 * Random bytes of the system's generator, taken from a supply that is filled 4096 bytes at a time: a call to the
 * generator takes far longer than making a few bytes, as `crypto.randomUUID` allows for in the same way.
 *
 * Security: bytes that have been given out are wiped from the supply.
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
