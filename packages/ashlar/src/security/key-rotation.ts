import { AshlarError, ConfigurationError, isLeftOut, listOf, type Setting, setting } from "../support/index.ts";
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
} from "./jwt/index.ts";
import { secretProblem, splitSecrets } from "./secrets.ts";
import "./errors.ts";

/** An application's configured keys for its tokens: the current one, its successor and its predecessors. */
interface WrittenKeys {
  readonly algorithm: JwtAlgorithm;
  readonly secret: KeyMaterial;
  readonly nextSecret: KeyMaterial | null;
  readonly previousSecrets: readonly KeyMaterial[];
}

const WEAK_FORMER_REMEDY = "Remove it from the list: a token that is signed with a guessed secret would be accepted.";

const SECRET: Setting<KeyMaterial> = setting({
  what: "a secret",
  remedy: "Read it from a variable of this driver's, with env(), and run: npx ashlar key:generate",
  accept: (value) => value as KeyMaterial,
  code: "E_WEAK_SECRET",
});

const SECRETS = listOf("a list: [oldSecret]", SECRET, []);

/**
 * Keys that can be replaced while tokens signed with them are still in use: one key that signs, and the keys that
 * verify.
 *
 * ```ts
 * import type { SigningKey } from "ashlar/jwt";
 * import { RotatingKeys } from "ashlar/security";
 * import { settings } from "ashlar/settings";
 *
 * type Key = ConstructorParameters<typeof SigningKey>[1];
 * interface WebhookSettings {
 *   readonly secret: Key | undefined;
 *   readonly nextSecret?: Key;
 *   readonly previousSecrets?: readonly Key[] | string;
 * }
 * const SCHEMA = settings<WebhookSettings>()(RotatingKeys.settings);
 *
 * // from WEBHOOKS in config/webhooks.ts
 * export function keysOf(written: unknown): RotatingKeys {
 *   const where = "config/webhooks.ts: WEBHOOKS";
 *   return new RotatingKeys(where, { algorithm: "ES256", ...SCHEMA.read(written, where) });
 * }
 * ```
 */
export class RotatingKeys {
  /** The settings for the keys, to be included in an object of settings. */
  static readonly settings: {
    readonly secret: Setting<KeyMaterial>;
    readonly nextSecret: Setting<KeyMaterial | null, KeyMaterial>;
    readonly previousSecrets: Setting<readonly KeyMaterial[], readonly KeyMaterial[] | string>;
  } = {
    secret: SECRET,
    nextSecret: setting({ what: "a secret", accept: (value) => value as KeyMaterial, fallback: null }),
    previousSecrets: Object.freeze({
      what: SECRETS.what,
      read: (value: unknown, where: string) => SECRETS.read(typeof value === "string" ? keysIn(value) : value, where),
    }),
  };

  readonly signingKey: SigningKey;
  /** The current key, then the next one, if there is one, and then the former ones. */
  readonly verificationKeys: readonly VerificationKey[];

  /**
   * @param where the location of the settings, for messages: `config/api.ts: DRIVERS.jwt`
   * @throws `E_WEAK_SECRET`, `E_JWT_KEY`, `E_JWT_ALGORITHM`
   */
  constructor(where: string, { algorithm, secret, nextSecret, previousSecrets }: WrittenKeys) {
    const verifying = (key: KeyMaterial): VerificationKey => {
      const created = new VerificationKey(algorithm, key);
      requireRandom(algorithm, key);
      // A public key's JWK has a name, so the key never verifies a token that names another one.
      return created.isSecret ? created : new VerificationKey(algorithm, publicJwk(created));
    };
    this.signingKey = prepared(where, "secret", secret, (key) => new SigningKey(algorithm, key));
    this.verificationKeys = Object.freeze([
      prepared(where, "secret", secret, verifying),
      ...(nextSecret === null ? [] : [prepared(where, "nextSecret", nextSecret, verifying)]),
      ...previousSecrets.map((former, index) => prepared(where, `previousSecrets[${index}]`, former, verifying)),
    ]);
  }

  /**
   * Requires settings to have a secret or private key. Call it before they are read, because its error has the command
   * that generates the key.
   *
   * @param where the location of the settings, which ends with the driver's name
   * @throws `E_WEAK_SECRET` if `secret` is empty
   */
  static requireSecret(where: string, entry: Readonly<Record<string, unknown>>): void {
    const { algorithm, secret } = entry;
    // If the property is missing, its name may be misspelled, which is reported elsewhere.
    if (!Object.hasOwn(entry, "secret") || !isLeftOut(secret)) return;
    const name = where.slice(where.lastIndexOf(".") + 1);
    const usual = PAIR_ALGORITHMS.some((one) => one === algorithm) ? "JWT_PRIVATE_KEY" : "JWT_SECRET";
    // We can't know which variable another driver reads.
    const read = name === "jwt" ? `env("${usual}")` : "read with env()";
    const remedy = `If it is ${read}, this environment variable is not set or empty. Run: ${keyCommand(name, algorithm)}`;
    throw new ConfigurationError(`${where}.secret`, "is missing.", remedy, "E_WEAK_SECRET");
  }
}

/** Splits a variable into keys: concatenated PEM files, or secrets separated by commas. */
function keysIn(list: string): string[] {
  return list.includes("-----BEGIN ") ? pemBlocks(list) : splitSecrets(list).filter((entry) => entry !== "");
}

/**
 * Requires a secret to be random. `ashlar/jwt` accepts any secret of the right length, such as the examples in RFCs.
 *
 * @throws `E_WEAK_SECRET`
 */
function requireRandom(algorithm: JwtAlgorithm, key: KeyMaterial): void {
  // One character per byte, because a secret may also be bytes, a KeyObject or a JWK.
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
  // The command doesn't overwrite an existing secret.
  const variable = driver.endsWith(".jwt") ? "JWT_SECRET" : "the variable that it reads";
  return `Empty the line of ${variable} in .env, and run: npx ashlar key:generate`;
}
