import { KeyObject, type webcrypto } from "node:crypto";
import { AshlarError } from "../../support/index.ts";
import type { JwtAlgorithm } from "./algorithms.ts";

/** A JSON Web Key (RFC 7517). */
export interface JsonWebKey extends webcrypto.JsonWebKey {
  /** The key's name. It chooses no key, but no two keys that verify the same tokens may share it. */
  readonly kid?: string;
}

/**
 * What a key is made of: a string is the secret of an HMAC, by its UTF-8, or the PEM of the other families; bytes
 * likewise. A JWK (RFC 7517) is one key, not a set.
 */
export type KeyMaterial = string | Uint8Array | KeyObject | JsonWebKey;

/** What a key is wanted for, in the words of `key_ops` (RFC 7517 §4.3). */
export type KeyUse = "sign" | "verify";

/** A JWK of the kind that an algorithm needs, which allows what it is wanted for. */
export interface CheckedJwk extends JsonWebKey {
  readonly kty: string;
}

/** Whether key material is given as a JWK. */
export function isJwk(key: KeyMaterial): key is JsonWebKey {
  return typeof key === "object" && key !== null && !(key instanceof Uint8Array) && !(key instanceof KeyObject);
}

/**
 * Checks what a JWK says of itself: `kty`, and where present `alg`, `use` and `key_ops` (RFC 7517 §4.1–4.4).
 *
 * @throws `E_JWT_KEY` where any of them does not allow the use
 */
export function checkJwk(name: JwtAlgorithm, key: KeyMaterial, kty: string, use: KeyUse): CheckedJwk {
  if (!isJwk(key)) throw new AshlarError("E_JWT_KEY", `The key for ${name} is neither text, bytes, KeyObject nor JWK.`);
  const jwk: JsonWebKey = key;
  if (jwk.kty !== kty) {
    throw new AshlarError("E_JWT_KEY", `${name} needs a JWK whose "kty" is "${kty}". A set of keys is not a key.`);
  }
  if (jwk.alg !== undefined && !namesAlgorithm(jwk, name)) {
    throw new AshlarError("E_JWT_KEY", `The JWK's "alg" is ${JSON.stringify(jwk.alg)}, and it was given for ${name}.`);
  }
  if (jwk.use !== undefined && jwk.use !== "sig") {
    throw new AshlarError("E_JWT_KEY", `The JWK's "use" is ${JSON.stringify(jwk.use)}; a signature needs "sig".`);
  }
  if (jwk.key_ops !== undefined && !allowsUse(jwk, use)) {
    throw new AshlarError("E_JWT_KEY", `The JWK's "key_ops" do not hold "${use}".`);
  }
  return { ...jwk, kty };
}

/**
 * Whether the `alg` of a JWK stands for an algorithm. RFC 9864 gives `EdDSA` with a key on a known curve a name of its
 * own: WebCrypto writes `Ed25519`, most others `EdDSA`, and both mean the same key.
 */
function namesAlgorithm({ alg, crv }: JsonWebKey, name: JwtAlgorithm): boolean {
  if (alg === name) return true;
  return (alg === "EdDSA" && name === crv) || (name === "EdDSA" && alg === crv);
}

function allowsUse(jwk: JsonWebKey, use: KeyUse): boolean {
  const operations: unknown = jwk.key_ops;
  if (!Array.isArray(operations)) return false;
  // A private key holds its public key, and whoever may sign may verify what was signed.
  return operations.includes(use) || (use === "verify" && jwk.d !== undefined && operations.includes("sign"));
}
