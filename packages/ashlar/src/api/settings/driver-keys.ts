import { secretProblem, splitSecrets } from "../../security/index.ts";
import {
  hmacSecretBytes,
  type JwtAlgorithm,
  type KeyMaterial,
  keyCommand,
  PAIR_ALGORITHMS,
  pemBlocks,
  publicJwk,
  SigningKey,
  VerificationKey,
} from "../../security/jwt/index.ts";
import { AshlarError, ConfigurationError, isLeftOut, listOf, type Setting, setting } from "../../support/index.ts";

/** The keys of a driver, as they were read. */
export interface WrittenKeys {
  readonly algorithm: JwtAlgorithm;
  readonly secret: KeyMaterial;
  readonly nextSecret: KeyMaterial | null;
  readonly previousSecrets: readonly KeyMaterial[];
}

/** The keys of a driver, ready for use. */
export interface DriverKeys {
  readonly signingKey: SigningKey;
  /** The current key, followed by the next one, if there is one, and the former ones. */
  readonly verificationKeys: readonly VerificationKey[];
}

const WEAK_FORMER_REMEDY = "Remove it from the list: a token that is signed with a guessed secret would be accepted.";

export const SECRET: Setting<KeyMaterial> = setting({
  what: "a secret",
  remedy: "Read it from a variable of this driver's, with env(), and run: npx ashlar key:generate",
  accept: (value) => value as KeyMaterial,
  code: "E_WEAK_SECRET",
});

export const NEXT_SECRET: Setting<KeyMaterial | null, KeyMaterial> = setting({
  what: "a secret",
  accept: (value) => value as KeyMaterial,
  fallback: null,
});

const SECRETS = listOf("a list: [oldSecret]", SECRET, []);

export const PREVIOUS_SECRETS: Setting<readonly KeyMaterial[], readonly KeyMaterial[] | string> = Object.freeze({
  what: SECRETS.what,
  read: (value: unknown, where: string) => SECRETS.read(typeof value === "string" ? keysIn(value) : value, where),
});

/** The keys in a variable: PEM files one after the other, or secrets separated by commas. */
function keysIn(list: string): string[] {
  return list.includes("-----BEGIN ") ? pemBlocks(list) : splitSecrets(list).filter((entry) => entry !== "");
}

/** @throws `E_WEAK_SECRET` with the command that makes the secret or the private key, if there isn't one */
export function requireSecretOf(where: string, name: string, entry: Readonly<Record<string, unknown>>): void {
  const { algorithm, secret } = entry;
  // One that is not written may be misspelled.
  if (!Object.hasOwn(entry, "secret") || !isLeftOut(secret)) return;
  const usual = PAIR_ALGORITHMS.some((one) => one === algorithm) ? "JWT_PRIVATE_KEY" : "JWT_SECRET";
  // Of another driver, only the configuration tells which variable it is.
  const read = name === "jwt" ? `env("${usual}")` : "read with env()";
  const remedy = `If it is ${read}, this environment variable is not set or empty. Run: ${keyCommand(name, algorithm)}`;
  throw new ConfigurationError(`${where}.secret`, "is missing.", remedy, "E_WEAK_SECRET");
}

/**
 * Creates the keys of a driver.
 *
 * @param where the place of the driver, for messages
 * @throws `E_WEAK_SECRET`, `E_JWT_KEY`, `E_JWT_ALGORITHM`
 */
export function createKeys(where: string, { algorithm, secret, nextSecret, previousSecrets }: WrittenKeys): DriverKeys {
  const verifying = (key: KeyMaterial): VerificationKey => {
    const created = new VerificationKey(algorithm, key);
    requireRandom(algorithm, key);
    // As a JWK, a public key has a name, so that it never verifies a token that names another one.
    return created.isSecret ? created : new VerificationKey(algorithm, publicJwk(created));
  };
  return {
    signingKey: prepared(where, "secret", secret, (key) => new SigningKey(algorithm, key)),
    verificationKeys: Object.freeze([
      prepared(where, "secret", secret, verifying),
      ...(nextSecret === null ? [] : [prepared(where, "nextSecret", nextSecret, verifying)]),
      ...previousSecrets.map((former, index) => prepared(where, `previousSecrets[${index}]`, former, verifying)),
    ]),
  };
}

/**
 * `ashlar/jwt` takes any secret of the right length, such as those of RFCs; an application's own has to be random.
 *
 * @throws `E_WEAK_SECRET`
 */
function requireRandom(algorithm: JwtAlgorithm, key: KeyMaterial): void {
  // One character per byte: a secret may also be given as bytes, a KeyObject or a JWK.
  const bytes = hmacSecretBytes(algorithm, key);
  const problem = bytes === null ? null : secretProblem(bytes.toString("latin1"));
  if (problem !== null) throw new AshlarError("E_WEAK_SECRET", `The secret for ${algorithm} ${problem}`);
}

function prepared<Key>(driver: string, name: string, secret: KeyMaterial, create: (key: KeyMaterial) => Key): Key {
  try {
    return create(secret);
  } catch (error) {
    if (!(error instanceof AshlarError)) throw error;
    const where = `${driver}.${error.code === "E_JWT_ALGORITHM" ? "algorithm" : name}`;
    throw new ConfigurationError(
      where,
      error.message,
      error.code === "E_WEAK_SECRET" ? remedyOf(driver, name) : "",
      error.code,
    );
  }
}

function remedyOf(driver: string, name: string): string {
  if (name !== "secret") return WEAK_FORMER_REMEDY;
  // The command does not change a secret that is set.
  const variable = driver.endsWith(".jwt") ? "JWT_SECRET" : "the variable that it reads";
  return `Empty the line of ${variable} in .env, and run: npx ashlar key:generate`;
}
