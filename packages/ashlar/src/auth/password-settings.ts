import { Argon2Hasher, DEFAULT_HASHER, type PasswordHasher } from "../security/index.ts";
import { ConfigurationError, setting, settings } from "../support/index.ts";
import { CheckedHasher } from "./checked-hasher.ts";

/** The shape of `PASSWORDS` in `config/auth.ts`. */
export interface PasswordSettings {
  /**
   * What hashes the passwords of all users; `argon2id()` if left out. A plain object is copied and frozen, as all settings
   * are: a hasher that keeps something is an instance of a class.
   */
  readonly hasher?: PasswordHasher;
}

const WHERE = "config/auth.ts: PASSWORDS";
const METHODS = ["hash", "verify", "needsRehash"] as const satisfies readonly (keyof PasswordHasher)[];

/** The checked form of each hasher of an application's own. */
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
 * @param passwords what `config/auth.ts` exports under this name; nothing if it does not
 * @returns what hashes passwords
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

/** @throws `E_INVALID_CONFIGURATION` if a hasher spares work as only tests may, and the application is in production */
export function refuseHasherForTests(hasher: PasswordHasher, environment: string): void {
  if (environment !== "production" || !(hasher instanceof Argon2Hasher) || !hasher.isForTests) return;
  const problem = "is the hasher for tests: an attacker with the table could try passwords quickly.";
  throw new ConfigurationError(`${WHERE}.hasher`, problem, "Write hasher: argon2id(), or leave it out.");
}
