import { AshlarError } from "../../support/index.ts";
import { algorithmDetails, type JwtAlgorithm } from "./algorithms.ts";
import { encodeBase64url } from "./base64url.ts";
import { Hmac } from "./hmac.ts";
import { isJwk, type KeyMaterial } from "./key-material.ts";
import { privateKey, publicKey } from "./key-pairs.ts";
import { pairParameters, signWithPair, verifyWithPair } from "./pair-signatures.ts";
import { hmacSecret } from "./secrets.ts";

/** The protected header of a token (RFC 7515 §4). Nothing in it chooses a key or is fetched. */
export interface JwsHeader {
  readonly alg: JwtAlgorithm;
  readonly typ?: unknown;
  readonly [name: string]: unknown;
}

/** A key to sign with, bound to one algorithm; made by {@link createSigningKey}. It shows nothing of its secret. */
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

  /** @internal The signature of a signing input, as base64url. */
  sign(input: string): string {
    return this.#sign(input);
  }
}

/** A key to verify with, bound to one algorithm; made by {@link createVerificationKey}. It shows nothing of its secret. */
export class VerificationKey {
  /** The only algorithm that this key accepts. */
  readonly algorithm: JwtAlgorithm;
  /** @internal Whether it is a secret, and so never used next to public keys. */
  readonly isSecret: boolean;
  /** @internal The `kid` of the JWK that it was made of. It chooses nothing, and is only compared with that of others. */
  readonly kid: string | null;
  /** @internal The protected header of the tokens that `signJwt` makes, encoded, and what it says. */
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

  /** @internal Whether the part of a token after `dot` is a signature of the part before it. */
  verifies(token: string, dot: number): boolean {
    return this.#verifies(token, dot);
  }
}

/**
 * Prepares a key to sign with, once, at boot.
 *
 * Security: an HMAC secret comes from a random generator; a phrase that somebody thought of can be guessed offline by
 * whoever holds one token.
 *
 * @param algorithm what the key signs with; the token's `alg` is this and nothing else
 * @param key for HMAC a secret of at least the hash's length (32, 48, 64 bytes); else a private key: RSA of 2048 bits or
 *   more, the curve of the ECDSA algorithm, Ed25519 or Ed448
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
 * @param algorithm the only algorithm that is accepted with this key, whatever a token says (RFC 8725 §3.1)
 * @param key the HMAC secret, or the public key; a private key stands for its public key
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
 * The keys to try, in their order; at least one.
 *
 * @throws `E_JWT_KEY` where there is none; where a secret stands next to a public key, from which an algorithm confusion
 *   is one mistake away (RFC 8725 §2.1); where two JWKs have one name (RFC 7517 §4.5)
 */
export function keyList(
  keys: VerificationKey | readonly VerificationKey[],
): readonly [VerificationKey, ...VerificationKey[]] {
  const list = (Array.isArray(keys) ? keys : [keys]) as [VerificationKey, ...VerificationKey[]];
  if (list.length === 0) throw new AshlarError("E_JWT_KEY", "No key was given to verify the token with.");
  for (let index = 0; index < list.length; index++) {
    const key = list[index];
    if (!(key instanceof VerificationKey)) {
      throw new AshlarError("E_JWT_KEY", "A token is verified with keys made by createVerificationKey().");
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
