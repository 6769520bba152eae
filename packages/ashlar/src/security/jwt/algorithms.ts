import { AshlarError, suggestion } from "../../support/index.ts";
import "./errors.ts";

/**
 * The signature algorithms of RFC 7518 §3.1, RFC 8037 §3.1 and RFC 9864 §2.2, except `none`. With `EdDSA`, the key
 * determines the curve. `Ed25519` and `Ed448` name it, and replace `EdDSA` in new applications (RFC 9864 §4.1.2).
 */
export type JwtAlgorithm =
  | "HS256"
  | "HS384"
  | "HS512"
  | "RS256"
  | "RS384"
  | "RS512"
  | "PS256"
  | "PS384"
  | "PS512"
  | "ES256"
  | "ES384"
  | "ES512"
  | "EdDSA"
  | "Ed25519"
  | "Ed448";

/** HMAC with SHA-2 (RFC 7518 §3.2). */
export interface HmacAlgorithm {
  readonly family: "hmac";
  readonly hash: HashName;
  /** The hash's length in bytes, which is also the minimum length of the secret. */
  readonly hashBytes: number;
  /** The hash's block size in bytes (RFC 2104 §2). */
  readonly blockBytes: number;
}

/** RSASSA-PKCS1-v1_5 and RSASSA-PSS (RFC 7518 §3.3, §3.5). */
export interface RsaAlgorithm {
  readonly family: "rsa";
  readonly hash: HashName;
  readonly hashBytes: number;
  readonly scheme: "pkcs1" | "pss";
}

/** ECDSA on the curve that belongs to the hash (RFC 7518 §3.4). */
export interface EcdsaAlgorithm {
  readonly family: "ecdsa";
  readonly hash: HashName;
  /** OpenSSL's name for the curve. */
  readonly curve: string;
}

/** EdDSA (RFC 8037 §3.1, RFC 9864 §2.2). */
export interface EddsaAlgorithm {
  readonly family: "eddsa";
  /** The curves that the key may be on, by Node's names. */
  readonly curves: readonly ("ed25519" | "ed448")[];
}

/** An algorithm's definition. */
export type AlgorithmDetails = HmacAlgorithm | RsaAlgorithm | EcdsaAlgorithm | EddsaAlgorithm;

/** OpenSSL's name for a hash. */
export type HashName = "sha256" | "sha384" | "sha512";

/** HMAC with SHA-256. */
export const HMAC_SHA256: HmacAlgorithm = { family: "hmac", hash: "sha256", hashBytes: 32, blockBytes: 64 };

const ALGORITHMS: ReadonlyMap<string, AlgorithmDetails> = new Map<JwtAlgorithm, AlgorithmDetails>([
  ["HS256", HMAC_SHA256],
  ["HS384", { family: "hmac", hash: "sha384", hashBytes: 48, blockBytes: 128 }],
  ["HS512", { family: "hmac", hash: "sha512", hashBytes: 64, blockBytes: 128 }],
  ["RS256", { family: "rsa", hash: "sha256", hashBytes: 32, scheme: "pkcs1" }],
  ["RS384", { family: "rsa", hash: "sha384", hashBytes: 48, scheme: "pkcs1" }],
  ["RS512", { family: "rsa", hash: "sha512", hashBytes: 64, scheme: "pkcs1" }],
  ["PS256", { family: "rsa", hash: "sha256", hashBytes: 32, scheme: "pss" }],
  ["PS384", { family: "rsa", hash: "sha384", hashBytes: 48, scheme: "pss" }],
  ["PS512", { family: "rsa", hash: "sha512", hashBytes: 64, scheme: "pss" }],
  ["ES256", { family: "ecdsa", hash: "sha256", curve: "prime256v1" }],
  ["ES384", { family: "ecdsa", hash: "sha384", curve: "secp384r1" }],
  ["ES512", { family: "ecdsa", hash: "sha512", curve: "secp521r1" }],
  ["EdDSA", { family: "eddsa", curves: ["ed25519", "ed448"] }],
  ["Ed25519", { family: "eddsa", curves: ["ed25519"] }],
  ["Ed448", { family: "eddsa", curves: ["ed448"] }],
]);

/** The algorithms that use a key pair: those whose signatures can be verified with a public key. */
export const PAIR_ALGORITHMS: readonly JwtAlgorithm[] = Object.freeze(
  ([...ALGORITHMS] as [JwtAlgorithm, AlgorithmDetails][]).flatMap(([name, { family }]) =>
    family === "hmac" ? [] : [name],
  ),
);

/**
 * Looks up an algorithm by its name.
 *
 * @throws `E_JWT_ALGORITHM` for any other name, including `none` in any case
 */
export function algorithmDetails(name: string): AlgorithmDetails {
  const details = ALGORITHMS.get(name);
  if (details !== undefined) return details;
  throw new AshlarError(
    "E_JWT_ALGORITHM",
    `The algorithm ${JSON.stringify(name)} is not supported. ${suggestion(String(name), ALGORITHMS.keys())}`,
  );
}
