import { Argon2Hasher, DEFAULT_HASHER, type PasswordHasher, randomToken } from "../../security/index.ts";
import { ConfigurationError, RUNTIME, setting, settings } from "../../support/index.ts";
import { CheckedHasher } from "./checked-hasher.ts";

/** The shape of `PASSWORDS` in `config/auth.ts`. */
export interface PasswordSettings {
  /**
   * Hashes the passwords of all users; default: `argon2id()`. A plain object is copied and frozen, as all settings are,
   * so a hasher with state has to be an instance of a class.
   */
  readonly hasher?: PasswordHasher;
}

const WHERE = "config/auth.ts: PASSWORDS";
const METHODS = ["hash", "verify", "needsRehash"] as const satisfies readonly (keyof PasswordHasher)[];

/** The checked form of each custom hasher. */
const checked = new WeakMap<PasswordHasher, PasswordHasher>();

const SCHEMA = settings<PasswordSettings>()({
  hasher: setting<PasswordHasher | null, PasswordHasher>({
    what: "argon2id(), or an object with the methods of PasswordHasher",
    accept: (value) => (missingMethods(value).length === 0 ? (value as PasswordHasher) : undefined),
    describe: (value) => `not a PasswordHasher: it has no ${missingMethods(value).join("(), no ")}()`,
    fallback: null,
  }),
});

function missingMethods(value: unknown): readonly string[] {
  return METHODS.filter((name) => typeof (value as Partial<PasswordHasher>)[name] !== "function");
}

/**
 * Reads `PASSWORDS`.
 *
 * @param passwords the export of `config/auth.ts` with this name; nothing if there isn't one
 * @returns the password hasher
 * @throws `E_INVALID_CONFIGURATION`
 */
export function passwordHasher(passwords: unknown): PasswordHasher {
  const { hasher } = SCHEMA.read(passwords, WHERE);
  if (hasher === null) return DEFAULT_HASHER;
  return hasher instanceof Argon2Hasher ? hasher : checkedForm(hasher);
}

function checkedForm(hasher: PasswordHasher): PasswordHasher {
  const known = checked.get(hasher) ?? new CheckedHasher(hasher);
  checked.set(hasher, known);
  return known;
}

/**
 * @throws `E_INVALID_CONFIGURATION` if the hasher is one for tests, which does too little work, and the application is
 * in production
 */
export function refuseHasherForTests(hasher: PasswordHasher, environment: string): void {
  if (environment !== "production" || !(hasher instanceof Argon2Hasher) || !hasher.isForTests) return;
  const problem = "is the hasher for tests: an attacker with the table could try passwords quickly.";
  throw new ConfigurationError(`${WHERE}.hasher`, problem, "Write hasher: argon2id(), or leave it out.");
}

/**
 * Makes sure that passwords can be hashed where that may not be allowed: at boot, and not at the first login. On Node.js, it
 * is always possible.
 *
 * @throws `E_MISSING_PACKAGE`
 */
export async function requireHashing(hasher: PasswordHasher): Promise<void> {
  if (RUNTIME !== "node" && hasher instanceof Argon2Hasher) await hasher.hash(randomToken());
}
