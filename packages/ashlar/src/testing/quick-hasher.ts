import { Argon2Hasher, DEFAULT_PARAMETERS, type PasswordHasher } from "../security/index.ts";

/** The least that Argon2 can be asked for with one lane (RFC 9106 §3.1). */
const PARAMETERS = { ...DEFAULT_PARAMETERS, memory: 8, passes: 1 };
const hasher = new Argon2Hasher(PARAMETERS);

/**
 * Hashes passwords by argon2id with next to no work, for tests: 8 KiB and one pass. `createTestApplication` uses it by
 * itself, unless the application has a hasher of its own. Hashes of other parameters verify as well.
 *
 * Security: an application in production refuses it at boot.
 */
export function quickHasher(): PasswordHasher {
  return hasher;
}
