import { createPublicKey, createSecretKey, type KeyObject } from "node:crypto";
import { AshlarError } from "../../support/index.ts";
import { algorithmDetails, type JwtAlgorithm } from "./algorithms.ts";
import { encodeBase64url } from "./encoding.ts";
import { Hmac } from "./hmac.ts";
import { isJwk, type JsonWebKey, type KeyMaterial } from "./key-material.ts";
import { privateKey, publicKey } from "./key-pairs.ts";
import { pairParameters, signWithPair, verifyWithPair } from "./pair-signatures.ts";
import { jwkThumbprint, type publicJwk, publicMembers } from "./public-jwk.ts";
import { hmacSecret } from "./secrets.ts";
import "./errors.ts";

/**
 * The protected header of a token (RFC 7515 §4). Nothing in it is fetched or used as a key. `kid` only narrows down the
 * given public keys that may have signed the token.
 */
export interface JwsHeader {
  readonly alg: JwtAlgorithm;
  readonly typ?: unknown;
  readonly [name: string]: unknown;
}

/**
 * A key to sign with, bound to one algorithm. It doesn't reveal the secret. Create it once, at boot.
 *
 * Security: generate HMAC secrets randomly. A phrase chosen by a person can be guessed offline by anyone who has a
 * token.
 */
export class SigningKey {
  /** The algorithm that this key signs with. */
  readonly algorithm: JwtAlgorithm;
  /**
   * The `kid` in its tokens' headers: the JWK's own `kid`, or else the public key's thumbprint (RFC 7638); `null` for a
   * secret.
   */
  readonly kid: string | null;
  /** @internal The protected header `{"alg":…,"typ":"JWT"}`, with `kid` if there is one, encoded. */
  readonly jwtHeader: string;
  readonly #sign: (input: string) => string;

  /**
   * @param algorithm the algorithm to sign with; it alone determines the token's `alg`
   * @param key for HMAC, a secret at least as long as the hash (32, 48 or 64 bytes); otherwise a private key: RSA of at
   *   least 2048 bits, the curve of the ECDSA algorithm, Ed25519 or Ed448
   * @throws `E_JWT_ALGORITHM`, `E_JWT_KEY`, `E_WEAK_SECRET`
   */
  constructor(algorithm: JwtAlgorithm, key: KeyMaterial) {
    const details = algorithmDetails(algorithm);
    this.algorithm = algorithm;
    if (details.family === "hmac") {
      const hmac = new Hmac(details, hmacSecret(algorithm, details, key, "sign"));
      this.kid = null;
      this.#sign = (input) => hmac.compute(input);
    } else {
      const secret = privateKey(algorithm, details, key);
      const parameters = pairParameters(details, secret);
      this.kid = kidOf(key) ?? jwkThumbprint(publicMembers(createPublicKey(secret)));
      this.#sign = (input) => signWithPair(parameters, input);
    }
    this.jwtHeader = encodeBase64url(JSON.stringify(jwtHeader(algorithm, this.kid)));
  }

  /** @internal Returns the signature of a signing input, as base64url. */
  sign(input: string): string {
    return this.#sign(input);
  }
}

/** A key to verify with, bound to one algorithm. It doesn't reveal the secret. Create it once, at boot. */
export class VerificationKey {
  /** The only algorithm that this key accepts. */
  readonly algorithm: JwtAlgorithm;
  /** @internal Whether it is a secret, which must never be used next to public keys. */
  readonly isSecret: boolean;
  /** @internal The `kid` of the JWK that it was created from; `null` without one. */
  readonly kid: string | null;
  /** @internal The public key with its name; `null` for a secret. */
  readonly publicJwk: ReturnType<typeof publicJwk> | null;
  /** @internal The encoded and decoded protected header of the tokens that `signJwt` creates. */
  readonly jwtHeader: string;
  /** @internal */
  readonly parsedJwtHeader: JwsHeader;
  readonly #key: KeyObject;
  readonly #thumbprint: string | null;
  readonly #verifies: (token: string, dot: number) => boolean;

  /**
   * @param algorithm the only algorithm accepted with this key, whatever a token says (RFC 8725 §3.1)
   * @param key the HMAC secret, or the public key; of a private key, only its public key is used
   * @throws `E_JWT_ALGORITHM`, `E_JWT_KEY`, `E_WEAK_SECRET`
   */
  constructor(algorithm: JwtAlgorithm, key: KeyMaterial) {
    const details = algorithmDetails(algorithm);
    this.algorithm = algorithm;
    this.kid = kidOf(key);
    if (details.family === "hmac") {
      const secret = hmacSecret(algorithm, details, key, "verify");
      const hmac = new Hmac(details, secret);
      this.#key = createSecretKey(secret);
      this.#verifies = (token, dot) => hmac.verifies(token, dot);
      this.#thumbprint = null;
      this.publicJwk = null;
    } else {
      this.#key = publicKey(algorithm, details, key);
      const parameters = pairParameters(details, this.#key);
      this.#verifies = (token, dot) => verifyWithPair(parameters, token, dot);
      const members = publicMembers(this.#key);
      this.#thumbprint = jwkThumbprint(members);
      this.publicJwk = published(members, algorithm, this.kid ?? this.#thumbprint);
    }
    this.isSecret = this.publicJwk === null;
    const header = jwtHeader(algorithm, this.publicJwk?.kid ?? null);
    this.jwtHeader = encodeBase64url(JSON.stringify(header));
    this.parsedJwtHeader = Object.freeze(header);
  }

  /** @internal Reports whether a `kid`, of any type, is this key's name or its thumbprint. */
  isNamed(kid: unknown): boolean {
    return typeof kid === "string" && (kid === this.kid || kid === this.#thumbprint);
  }

  /** @internal Reports whether this is the same secret or public key as another, whatever the algorithms. */
  isSameAs(other: VerificationKey): boolean {
    return this.#key.equals(other.#key);
  }

  /** @internal Reports whether the part of a token after `dot` is a signature of the part before it. */
  verifies(token: string, dot: number): boolean {
    return this.#verifies(token, dot);
  }
}

/**
 * Returns the keys to try, in order; at least one.
 *
 * @throws `E_JWT_KEY` if there aren't any; if a secret is listed next to a public key, because one more mistake would
 * then allow algorithm confusion (RFC 8725 §2.1); if two JWKs for the same algorithm have the same name (RFC 7517 §4.5)
 */
export function keyList(
  keys: VerificationKey | readonly VerificationKey[],
): readonly [VerificationKey, ...VerificationKey[]] {
  const list = (Array.isArray(keys) ? keys : [keys]) as [VerificationKey, ...VerificationKey[]];
  if (list.length === 0) throw new AshlarError("E_JWT_KEY", "No key was given to verify the token.");
  for (let index = 0; index < list.length; index++) {
    const key = list[index];
    if (!(key instanceof VerificationKey)) {
      throw new AshlarError("E_JWT_KEY", "Verify tokens with keys from new VerificationKey().");
    }
    if (key.isSecret !== list[0].isSecret) {
      throw new AshlarError("E_JWT_KEY", "Secrets and public keys cannot verify the same tokens.");
    }
    const isSame = ({ kid, algorithm }: VerificationKey) => kid === key.kid && algorithm === key.algorithm;
    if (key.kid !== null && list.findIndex(isSame) !== index) {
      throw new AshlarError("E_JWT_KEY", `Two keys have the "kid" ${JSON.stringify(key.kid)}.`);
    }
  }
  return list;
}

/**
 * The keys that may have signed a token with this `kid`: those with the same name, or else those without a name. Only
 * public keys are narrowed down; a `kid` never adds a key.
 */
export function narrowed(list: readonly VerificationKey[], kid: unknown): readonly VerificationKey[] {
  if (kid === undefined || list[0]?.isSecret) return list;
  const named = list.filter((key) => key.isNamed(kid));
  return named.length > 0 ? named : list.filter((key) => key.kid === null);
}

function published(members: JsonWebKey, alg: JwtAlgorithm, kid: string): ReturnType<typeof publicJwk> {
  return Object.freeze({ ...members, use: "sig", alg, kid });
}

function kidOf(key: KeyMaterial): string | null {
  return isJwk(key) && typeof key.kid === "string" ? key.kid : null;
}

function jwtHeader(alg: JwtAlgorithm, kid: string | null): JwsHeader {
  return { alg, typ: "JWT", ...(kid === null ? {} : { kid }) };
}
