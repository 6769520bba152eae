import { compareSync } from "bcryptjs";

/**
 * Verifies a password against an imported bcrypt hash. It is slow: never call it on the event loop.
 *
 * Security: bcrypt uses only the first 72 bytes of a password, so any text that begins with them is accepted. This ends
 * with the first login, which hashes the complete password again.
 *
 * @param hash a hash that `isBcrypt` accepts
 */
export function verifyBcrypt(hash: string, plain: string): boolean {
  return compareSync(plain, hash);
}
