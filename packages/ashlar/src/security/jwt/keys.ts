import { createPublicKey, createSecretKey, type KeyObject } from "node:crypto";
import { AshlarError } from "../../support/index.ts";
import { algorithmDetails, type JwtAlgorithm } from "./algorithms.ts";
import { encodeBase64url } from "./base64url.ts";
import { Hmac } from "./hmac.ts";
import { isJwk, type JsonWebKey, type KeyMaterial } from "./key-material.ts";
import { privateKey, publicKey } from "./key-pairs.ts";
import { pairParameters, signWithPair, verifyWithPair } from "./pair-signatures.ts";
import { jwkThumbprint, type PublicJwk, publicMembers } from "./public-jwk.ts";
import { hmacSecret } from "./secrets.ts";
import "./errors.ts";

/**
 * The protected header of a token (RFC 7515 §4). Nothing in it is fetched or becomes a key; `kid` only narrows down which
 * of the given public keys may have signed.
 */
export interface JwsHeader {
  readonly alg: JwtAlgorithm;
  readonly typ?: unknown;
  readonly [name: string]: unknown;
}

/** A key to sign with, bound to one algorithm; created by {@link createSigningKey}. It never reveals its secret. */
export class SigningKey {
  /** The algorithm that this key signs with. */
  readonly algorithm: JwtAlgorithm;
  /**
   * The `kid` in the header of its tokens: that of the JWK it was created from, otherwise the thumbprint of its public key
   * (RFC 7638); `null` for a secret.
   */
  readonly kid: string | null;
  /** @internal The protected header `{"alg":…,"typ":"JWT"}`, with `kid` if there is one, encoded. */
  readonly jwtHeader: string;
  readonly #sign: (input: string) => string;

  /** @internal */
  constructor(algorithm: JwtAlgorithm, kid: string | null, sign: (input: string) => string) {
    this.algorithm = algorithm;
    this.kid = kid;
    this.jwtHeader = encodeBase64url(JSON.stringify(jwtHeader(algorithm, kid)));
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
  /** @internal The `kid` of the JWK it was created from; `null` if it has none. */
  readonly kid: string | null;
  /** @internal The public key with its name; `null` for a secret. */
  readonly publicJwk: PublicJwk | null;
  /** @internal The encoded and decoded protected header of the tokens that `signJwt` creates. */
  readonly jwtHeader: string;
  /** @internal */
  readonly parsedJwtHeader: JwsHeader;
  readonly #key: KeyObject;
  readonly #thumbprint: string | null;
  readonly #verifies: (token: string, dot: number) => boolean;

  /** @internal */
  constructor(
    algorithm: JwtAlgorithm,
    kid: string | null,
    prepared: KeyObject,
    verifies: (token: string, dot: number) => boolean,
  ) {
    const members = prepared.type === "secret" ? null : publicMembers(prepared);
    const thumbprint = members === null ? null : jwkThumbprint(members);
    this.algorithm = algorithm;
    this.isSecret = members === null;
    this.kid = kid;
    this.publicJwk = members === null ? null : published(members, algorithm, kid ?? thumbprint!);
    this.#key = prepared;
    const header = jwtHeader(algorithm, this.publicJwk?.kid ?? null);
    this.jwtHeader = encodeBase64url(JSON.stringify(header));
    this.parsedJwtHeader = Object.freeze(header);
    this.#thumbprint = thumbprint;
    this.#verifies = verifies;
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
    return new SigningKey(algorithm, null, (input) => hmac.compute(input));
  }
  const secret = privateKey(algorithm, details, key);
  const kid = kidOf(key) ?? jwkThumbprint(publicMembers(createPublicKey(secret)));
  const parameters = pairParameters(details, secret);
  return new SigningKey(algorithm, kid, (input) => signWithPair(parameters, input));
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
    const secret = hmacSecret(algorithm, details, key, "verify");
    const hmac = new Hmac(details, secret);
    const prepared = createSecretKey(secret);
    return new VerificationKey(algorithm, kidOf(key), prepared, (token, dot) => hmac.verifies(token, dot));
  }
  const prepared = publicKey(algorithm, details, key);
  const parameters = pairParameters(details, prepared);
  return new VerificationKey(algorithm, kidOf(key), prepared, (token, dot) => verifyWithPair(parameters, token, dot));
}

/**
 * Returns the keys to try, in order; at least one.
 *
 * @throws `E_JWT_KEY` if there are none; if a secret stands next to a public key, which is one mistake away from
 *   algorithm confusion (RFC 8725 §2.1); if two JWKs for the same algorithm have the same name (RFC 7517 §4.5)
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
    const isSame = ({ kid, algorithm }: VerificationKey) => kid === key.kid && algorithm === key.algorithm;
    if (key.kid !== null && list.findIndex(isSame) !== index) {
      throw new AshlarError("E_JWT_KEY", `Two keys have the "kid" ${JSON.stringify(key.kid)}.`);
    }
  }
  return list;
}

/**
 * The keys that may have signed a token with this `kid`: those with this name, otherwise those without a name. Only public
 * keys are narrowed down; a `kid` never adds a key.
 */
export function narrowed(list: readonly VerificationKey[], kid: unknown): readonly VerificationKey[] {
  if (kid === undefined || list[0]?.isSecret) return list;
  const named = list.filter((key) => key.isNamed(kid));
  return named.length > 0 ? named : list.filter((key) => key.kid === null);
}

function published(members: JsonWebKey, alg: JwtAlgorithm, kid: string): PublicJwk {
  return Object.freeze({ ...members, use: "sig", alg, kid }) as PublicJwk;
}

function kidOf(key: KeyMaterial): string | null {
  return isJwk(key) && typeof key.kid === "string" ? key.kid : null;
}

function jwtHeader(alg: JwtAlgorithm, kid: string | null): JwsHeader {
  return { alg, typ: "JWT", ...(kid === null ? {} : { kid }) };
}
