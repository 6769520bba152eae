import { secretProblem } from "../security/index.ts";
import {
  createSigningKey,
  createVerificationKey,
  hmacSecretBytes,
  type JwtAlgorithm,
  type KeyMaterial,
  type SigningKey,
  type VerificationKey,
} from "../security/jwt/index.ts";
import {
  AshlarError,
  type Complete,
  ConfigurationError,
  flag,
  integer,
  listOf,
  minutes,
  notBlank,
  type Optional,
  type Setting,
  setting,
  settings,
  text,
} from "../support/index.ts";
import { requireTokenModel, type TokenModel } from "./token-model.ts";

/** The value of `DRIVERS.jwt.version`, and of the claim `ver`. */
export type TokenVersion = string | number;

/** The shape of `DRIVERS.jwt` in `config/api.ts`. */
export interface JwtSettings {
  /** The signature algorithm; default: HS512. */
  readonly algorithm?: JwtAlgorithm;
  /**
   * With an HMAC algorithm, random text at least as long as the hash, as `npx ashlar key:generate` writes it; with any
   * other, the private key in PEM.
   *
   * Tokens are signed with the secret itself, so that another service that knows it can verify them. Everything else
   * that the framework signs or seals uses a key derived for its own purpose; one is never accepted instead of the
   * other.
   */
  readonly secret: KeyMaterial | null | undefined;
  /** Secrets that are still used to verify, but no longer to sign. */
  readonly previousSecrets?: readonly KeyMaterial[];
  /**
   * The class of the users that tokens are issued to. With the mixin `AuthenticatesTokens` each has one active token; a
   * class of your own that implements {@link TokenModel} (and `TokenBearer` in its instances) may keep several.
   */
  readonly model: TokenModel;
  /** How long a token lives, in minutes; default: it never expires. */
  readonly expires?: number | null;
  /**
   * Whether each request checks in the database that the token is still an active one of its user; default: `false`.
   */
  readonly authenticates?: boolean;
  /** The required value of the claim `ver` in every token; default: tokens have no such claim. */
  readonly version?: TokenVersion | null;
  /** The claim `iss`; default: none. */
  readonly issuer?: Optional<string>;
  /** The claim `aud`; default: none. */
  readonly audience?: Optional<string>;
  /** How long after its expiry a token can be renewed, in minutes; default: no limit. */
  readonly reauthWithinMinutes?: number | null;
  /** Whether the input `token` may be in the query; default: `true`. */
  readonly tokenInQuery?: boolean;
  /** How far in the future `iat` and `nbf` may be, in seconds; default: 30. */
  readonly clockSkewSeconds?: number;
}

/** The shape of `DRIVERS` in `config/api.ts`. */
export interface DriversSettings {
  readonly jwt: JwtSettings;
}

/** {@link JwtSettings}, as they were read, with keys created from the secrets. */
export interface CompleteJwtSettings
  extends Omit<Complete<JwtSettings>, "algorithm" | "secret" | "previousSecrets" | "expires"> {
  readonly signingKey: SigningKey;
  /** The current key, followed by the former ones. */
  readonly verificationKeys: readonly VerificationKey[];
  /** `null`: no limit. */
  readonly expiresInMinutes: number | null;
}

const WHERE = "config/api.ts: DRIVERS";
// The command does not change a secret that is set.
const WEAK_SECRET_REMEDY = "Empty the line of JWT_SECRET in .env, and run: npx ashlar key:generate";
const WEAK_FORMER_REMEDY = "Remove it from the list: a token that is signed with a guessed secret would be accepted.";
const UNLIMITED = Number.POSITIVE_INFINITY;

const SECRET: Setting<KeyMaterial> = setting({
  what: "a secret",
  remedy: 'If it is env("JWT_SECRET"), this environment variable is not set or empty. Run: npx ashlar key:generate',
  accept: (value) => value as KeyMaterial,
  code: "E_WEAK_SECRET",
});

const MODEL: Setting<TokenModel> = setting({
  what: "the class of your users: User",
  accept: (value, where) => (canFindUsers(value) ? requireTokenModel(value, where) : undefined),
  code: "E_INVALID_MODEL",
});

/** A class, or an object that finds users of a class. */
function canFindUsers(value: unknown): value is object & { readonly name: string } {
  return typeof value === "function" || (typeof value === "object" && value !== null && "userClass" in value);
}

const JWT = settings<JwtSettings>()({
  // Its possible values are reported where keys are created.
  algorithm: setting<JwtAlgorithm>({
    what: "the name of an algorithm",
    accept: (value) => value as JwtAlgorithm,
    fallback: "HS512",
  }),
  secret: SECRET,
  previousSecrets: listOf("a list: [oldSecret]", SECRET, []),
  model: MODEL,
  expires: notBlank(minutes(null, UNLIMITED)),
  authenticates: flag(false),
  version: notBlank(
    setting<TokenVersion | null, TokenVersion>({
      what: "text or a number",
      accept: (value) => (typeof value === "string" || Number.isFinite(value) ? (value as TokenVersion) : undefined),
      fallback: null,
    }),
  ),
  issuer: notBlank(text(null)),
  audience: notBlank(text(null)),
  reauthWithinMinutes: notBlank(minutes(null, UNLIMITED)),
  tokenInQuery: flag(true),
  clockSkewSeconds: integer({ from: 1, to: UNLIMITED, unit: "seconds" }, 30),
});

const SCHEMA = settings<DriversSettings>()({
  jwt: setting<ReturnType<typeof JWT.read>, JwtSettings>({
    what: JWT.what,
    remedy: "Run npx ashlar api:install, which writes config/api.ts.",
    accept: JWT.read,
  }),
});

/**
 * Reads `DRIVERS`, and prepares its keys.
 *
 * @param drivers what `config/api.ts` exports as `DRIVERS`
 * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL`, `E_WEAK_SECRET`, `E_JWT_KEY`, `E_JWT_ALGORITHM`
 */
export function readApiSettings(drivers: unknown): CompleteJwtSettings {
  const { algorithm, secret, previousSecrets, expires, ...jwt } = SCHEMA.read(drivers, WHERE).jwt;
  const verifying = (key: KeyMaterial): VerificationKey => {
    const created = createVerificationKey(algorithm, key);
    requireRandom(algorithm, key);
    return created;
  };
  return Object.freeze({
    ...jwt,
    expiresInMinutes: expires,
    signingKey: prepared("secret", secret, (key) => createSigningKey(algorithm, key)),
    verificationKeys: Object.freeze([
      prepared("secret", secret, verifying),
      ...previousSecrets.map((former, index) => prepared(`previousSecrets[${index}]`, former, verifying)),
    ]),
  });
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

function prepared<Key>(name: string, secret: KeyMaterial, create: (key: KeyMaterial) => Key): Key {
  try {
    return create(secret);
  } catch (error) {
    if (!(error instanceof AshlarError)) throw error;
    const where = `${WHERE}.jwt.${error.code === "E_JWT_ALGORITHM" ? "algorithm" : name}`;
    throw new ConfigurationError(
      where,
      error.message,
      error.code === "E_WEAK_SECRET" ? remedyOf(name) : "",
      error.code,
    );
  }
}

function remedyOf(name: string): string {
  return name === "secret" ? WEAK_SECRET_REMEDY : WEAK_FORMER_REMEDY;
}
