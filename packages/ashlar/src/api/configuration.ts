import {
  createSigningKey,
  createVerificationKey,
  type JwtAlgorithm,
  type KeyMaterial,
  type SigningKey,
  type VerificationKey,
} from "../security/jwt/index.ts";
import { AshlarError, ConfigurationError, settingsOf } from "../support/index.ts";
import { requireTokenModel, type TokenModel } from "./token-model.ts";

/** The value of `DRIVERS.jwt.version`, and of the claim `ver`. */
export type TokenVersion = string | number;

/** `DRIVERS.jwt` of the configuration, validated. */
export interface JwtConfiguration {
  readonly signingKey: SigningKey;
  /** The key in use, then the former ones. */
  readonly verificationKeys: readonly VerificationKey[];
  readonly model: TokenModel;
  /** How long a token lives, in minutes; `null`: for ever. */
  readonly expiresInMinutes: number | null;
  /** Whether each request checks in the database that the token still is its user's active one. */
  readonly authenticates: boolean;
  readonly version: TokenVersion | null;
  readonly issuer: string | null;
  readonly audience: string | null;
  /** How long after its expiry a token can be renewed, in minutes; `null`: for ever. */
  readonly reauthWithinMinutes: number | null;
  /** Whether the input `token` may stand in the query. */
  readonly tokenInQuery: boolean;
  /** How far in the future `iat` and `nbf` may lie, in seconds. */
  readonly clockSkewSeconds: number;
}

const SECTION = "config/api.ts: DRIVERS";
const WHERE = `${SECTION}.jwt`;
const DEFAULT_ALGORITHM = "HS512";
const DEFAULT_CLOCK_SKEW = 30;
const MISSING_SECRET_REMEDY = 'Write secret: env("JWT_SECRET"), and run: npx ashlar key:generate';
// The command leaves alone what is set.
const WEAK_SECRET_REMEDY = "Empty the line of JWT_SECRET in .env, and run: npx ashlar key:generate";
const OPTIONS = [
  "algorithm",
  "secret",
  "previousSecrets",
  "model",
  "expires",
  "authenticates",
  "version",
  "issuer",
  "audience",
  "reauthWithin",
  "tokenInQuery",
  "clockSkew",
];

/**
 * Validates the section `api` of the configuration, and prepares its keys.
 *
 * With an HMAC algorithm `secret` is text of at least the hash's length; with any other it is the private key in PEM.
 * `previousSecrets` still verify and no longer sign.
 *
 * Tokens are signed with the secret itself, so that another service that knows it can verify them. Whatever else the
 * framework signs or seals has a key derived for its own purpose; neither is accepted in the place of the other.
 *
 * @param section what `config/api.ts` exports
 * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL`, `E_WEAK_SECRET`, `E_JWT_KEY`, `E_JWT_ALGORITHM`
 */
export function apiConfiguration(section: Readonly<Record<string, unknown>>): JwtConfiguration {
  const { jwt } = settingsOf(section.DRIVERS, SECTION, ["jwt"]);
  if (jwt === undefined || jwt === null) {
    throw new ConfigurationError(WHERE, "it is missing.", "Run npx ashlar api:install, which writes config/api.ts.");
  }
  const options = settingsOf(jwt, WHERE, OPTIONS);
  const former = previousSecrets(options.previousSecrets);
  const algorithm = (options.algorithm ?? DEFAULT_ALGORITHM) as JwtAlgorithm;
  const verifying = (key: KeyMaterial): VerificationKey => createVerificationKey(algorithm, key);
  const { signingKey, verificationKey } = prepared("secret", options.secret, (key) => {
    return { signingKey: createSigningKey(algorithm, key), verificationKey: verifying(key) };
  });
  return Object.freeze({
    signingKey,
    verificationKeys: [
      verificationKey,
      ...former.map((secret, index) => prepared(`previousSecrets[${index}]`, secret, verifying)),
    ],
    model: requireTokenModel(options.model, `${WHERE}.model`),
    expiresInMinutes: whole("expires", options.expires, "minutes"),
    authenticates: flag("authenticates", options.authenticates, false),
    version: version(options.version),
    issuer: name("issuer", options.issuer),
    audience: name("audience", options.audience),
    reauthWithinMinutes: whole("reauthWithin", options.reauthWithin, "minutes"),
    tokenInQuery: flag("tokenInQuery", options.tokenInQuery, true),
    clockSkewSeconds: whole("clockSkew", options.clockSkew, "seconds") ?? DEFAULT_CLOCK_SKEW,
  });
}

function prepared<Key>(name: string, secret: unknown, create: (key: KeyMaterial) => Key): Key {
  if (secret === undefined || secret === null || secret === "") {
    throw new ConfigurationError(`${WHERE}.${name}`, "it is not set.", MISSING_SECRET_REMEDY, "E_WEAK_SECRET");
  }
  try {
    return create(secret as KeyMaterial);
  } catch (error) {
    if (!(error instanceof AshlarError)) throw error;
    const where = error.code === "E_JWT_ALGORITHM" ? `${WHERE}.algorithm` : `${WHERE}.${name}`;
    const remedy = error.code === "E_WEAK_SECRET" ? WEAK_SECRET_REMEDY : "";
    throw new ConfigurationError(where, error.message, remedy, error.code);
  }
}

function previousSecrets(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw problem("previousSecrets", "it is not a list.", "Write previousSecrets: [oldSecret].");
}

function whole(name: string, value: unknown, unit: string): number | null {
  if (value === undefined || value === null) return null;
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  throw problem(name, `it is not a positive whole number of ${unit}.`, "Write such a number, or null for the default.");
}

function flag(name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined || value === null) return fallback;
  if (typeof value === "boolean") return value;
  throw problem(name, "it is neither true nor false.", `Write ${name}: ${fallback}.`);
}

function name(option: string, value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" && value !== "") return value;
  throw problem(option, "it is not text.", `Leave it out, or write ${option}: "https://shop.example".`);
}

function version(value: unknown): TokenVersion | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || Number.isFinite(value)) return value as TokenVersion;
  throw problem("version", "it is neither text nor a number.", "Write version: 1, or null for none.");
}

function problem(option: string, what: string, remedy: string): ConfigurationError {
  return new ConfigurationError(`${WHERE}.${option}`, what, remedy);
}
