import { Argon2Hasher, DEFAULT_PARAMETERS, type PasswordHasher } from "../../security/index.ts";

/** The minimum that Argon2 allows with one lane (RFC 9106 §3.1). */
const PARAMETERS = { ...DEFAULT_PARAMETERS, memory: 8, passes: 1 };
const hasher = new Argon2Hasher(PARAMETERS);

/**
 * Hashes passwords with argon2id and next to no work, for tests: 8 KiB and one pass. `createTestApplication` uses it
 * unless the application sets its own hasher. Hashes with other parameters verify too.
 *
 * Security: an application in production refuses it at boot.
 */
export function quickHasher(): PasswordHasher {
  return hasher;
}
