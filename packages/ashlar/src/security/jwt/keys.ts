import { AshlarError } from "../../support/index.ts";
import { algorithmDetails, type JwtAlgorithm } from "./algorithms.ts";
import { encodeBase64url } from "./base64url.ts";
import { Hmac } from "./hmac.ts";
import { isJwk, type KeyMaterial } from "./key-material.ts";
import { privateKey, publicKey } from "./key-pairs.ts";
import { pairParameters, signWithPair, verifyWithPair } from "./pair-signatures.ts";
import { hmacSecret } from "./secrets.ts";
import "./errors.ts";

/** The protected header of a token (RFC 7515 §4). Nothing in it selects a key or is fetched. */
export interface JwsHeader {
  readonly alg: JwtAlgorithm;
  readonly typ?: unknown;
  readonly [name: string]: unknown;
}

/** A key to sign with, bound to one algorithm; created by {@link createSigningKey}. It never reveals its secret. */
export class SigningKey {
  /** The algorithm that this key signs with. */
  readonly algorithm: JwtAlgorithm;
  /** @internal The protected header `{"alg":…,"typ":"JWT"}`, encoded. */
  readonly jwtHeader: string;
  readonly #sign: (input: string) => string;

  /** @internal */
  constructor(algorithm: JwtAlgorithm, sign: (input: string) => string) {
    this.algorithm = algorithm;
    this.jwtHeader = jwtHeader(algorithm);
    this.#sign = sign;
  }

  /** @internal Returns the signature of a signing input, as base64url. */
  sign(input: string): string {
    return this.#sign(input);
  }
}

/** A key to verify with, bound to one algorithm; created by {@link createVerificationKey}. It never reveals its secret. */
export class VerificationKey {
  /** The only algorithm that this key accepts. */
  readonly algorithm: JwtAlgorithm;
  /** @internal Whether it is a secret, which must never be used next to public keys. */
  readonly isSecret: boolean;
  /** @internal The `kid` of the JWK it was made from. It selects nothing and is only compared with other keys' `kid`. */
  readonly kid: string | null;
  /** @internal The encoded and decoded protected header of the tokens that `signJwt` creates. */
  readonly jwtHeader: string;
  /** @internal */
  readonly parsedJwtHeader: JwsHeader;
  readonly #verifies: (token: string, dot: number) => boolean;

  /** @internal */
  constructor(algorithm: JwtAlgorithm, key: KeyMaterial, verifies: (token: string, dot: number) => boolean) {
    this.algorithm = algorithm;
    this.isSecret = algorithmDetails(algorithm).family === "hmac";
    this.kid = isJwk(key) && typeof key.kid === "string" ? key.kid : null;
    this.jwtHeader = jwtHeader(algorithm);
    this.parsedJwtHeader = Object.freeze({ alg: algorithm, typ: "JWT" });
    this.#verifies = verifies;
  }

  /** @internal Reports whether the part of a token after `dot` is a signature of the part before it. */
  verifies(token: string, dot: number): boolean {
    return this.#verifies(token, dot);
  }
}

/**
 * Prepares a key to sign with, once, at boot.
 *
 * Security: generate an HMAC secret randomly; anyone who holds one token can guess a human-chosen phrase offline.
 *
 * @param algorithm the algorithm to sign with; it alone determines the token's `alg`
 * @param key for HMAC, a secret at least as long as the hash (32, 48 or 64 bytes); otherwise a private key: RSA of at
 *   least 2048 bits, the curve of the ECDSA algorithm, Ed25519 or Ed448
 * @throws `E_JWT_ALGORITHM`, `E_JWT_KEY`, `E_WEAK_SECRET`
 */
export function createSigningKey(algorithm: JwtAlgorithm, key: KeyMaterial): SigningKey {
  const details = algorithmDetails(algorithm);
  if (details.family === "hmac") {
    const hmac = new Hmac(details, hmacSecret(algorithm, details, key, "sign"));
    return new SigningKey(algorithm, (input) => hmac.compute(input));
  }
  const parameters = pairParameters(details, privateKey(algorithm, details, key));
  return new SigningKey(algorithm, (input) => signWithPair(parameters, input));
}

/**
 * Prepares a key to verify with, once, at boot.
 *
 * @param algorithm the only algorithm accepted with this key, whatever a token says (RFC 8725 §3.1)
 * @param key the HMAC secret, or the public key; given a private key, its public key is used
 * @throws `E_JWT_ALGORITHM`, `E_JWT_KEY`, `E_WEAK_SECRET`
 */
export function createVerificationKey(algorithm: JwtAlgorithm, key: KeyMaterial): VerificationKey {
  const details = algorithmDetails(algorithm);
  if (details.family === "hmac") {
    const hmac = new Hmac(details, hmacSecret(algorithm, details, key, "verify"));
    return new VerificationKey(algorithm, key, (token, dot) => hmac.verifies(token, dot));
  }
  const parameters = pairParameters(details, publicKey(algorithm, details, key));
  return new VerificationKey(algorithm, key, (token, dot) => verifyWithPair(parameters, token, dot));
}

/**
 * Returns the keys to try, in order; at least one.
 *
 * @throws `E_JWT_KEY` if there are none; if a secret stands next to a public key, which is one mistake away from
 *   algorithm confusion (RFC 8725 §2.1); if two JWKs have the same name (RFC 7517 §4.5)
 */
export function keyList(
  keys: VerificationKey | readonly VerificationKey[],
): readonly [VerificationKey, ...VerificationKey[]] {
  const list = (Array.isArray(keys) ? keys : [keys]) as [VerificationKey, ...VerificationKey[]];
  if (list.length === 0) throw new AshlarError("E_JWT_KEY", "No key was given to verify the token.");
  for (let index = 0; index < list.length; index++) {
    const key = list[index];
    if (!(key instanceof VerificationKey)) {
      throw new AshlarError("E_JWT_KEY", "Verify tokens with keys from createVerificationKey().");
    }
    if (key.isSecret !== list[0].isSecret) {
      throw new AshlarError("E_JWT_KEY", "Secrets and public keys cannot verify the same tokens.");
    }
    if (key.kid !== null && list.findIndex((other) => other.kid === key.kid) !== index) {
      throw new AshlarError("E_JWT_KEY", `Two keys have the "kid" ${JSON.stringify(key.kid)}.`);
    }
  }
  return list;
}

function jwtHeader(algorithm: JwtAlgorithm): string {
  return encodeBase64url(`{"alg":"${algorithm}","typ":"JWT"}`);
}
