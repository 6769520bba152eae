import { compareSync } from "bcryptjs";

/** Salt (22 characters) and hash (31) in bcrypt's alphabet; the cost in two digits. */
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const MIN_COST = 4;
/** Each step doubles the work; 14 already takes seconds, and a planted 31 would take days. */
const MAX_COST = 14;

/** Reports whether a text is a bcrypt hash with a cost from 4 to 14: `$2a$`, `$2b$` or `$2y$`. */
export function isBcrypt(hash: string): boolean {
  const cost = Number(BCRYPT.exec(hash)?.[1]);
  return cost >= MIN_COST && cost <= MAX_COST;
}

/**
 * Verifies a password against an imported bcrypt hash. It is slow: never call it on the event loop.
 *
 * Security: bcrypt sees only the first 72 bytes of a password, so any text that begins with them is accepted. The first
 * login ends that by hashing the complete password again.
 *
 * @param hash one that {@link isBcrypt} accepts
 */
export function verifyBcrypt(hash: string, plain: string): boolean {
  return compareSync(plain, hash);
}
