import { KeyObject, type webcrypto } from "node:crypto";
import { AshlarError } from "../../support/index.ts";
import type { JwtAlgorithm } from "./algorithms.ts";
import "./errors.ts";

/** A JSON Web Key (RFC 7517). */
export interface JsonWebKey extends webcrypto.JsonWebKey {
  /**
   * The key's name. Tokens signed with a private key have its name in their header, and a public key doesn't verify
   * tokens with another name. In a list, two keys for the same algorithm must have different names.
   */
  readonly kid?: string;
}

/**
 * The forms of key material. A string is an HMAC secret (its UTF-8 bytes), or PEM for the other families, and so are
 * bytes. A JWK (RFC 7517) is a single key, not a set.
 */
export type KeyMaterial = string | Uint8Array | KeyObject | JsonWebKey;

/** A key's intended use, in the terms of `key_ops` (RFC 7517 §4.3). */
export type KeyUse = "sign" | "verify";

/** Returns the JWK if its kind fits an algorithm, and it allows the intended use. */
export interface CheckedJwk extends JsonWebKey {
  readonly kty: string;
}

/** Whether key material is given as a JWK. */
export function isJwk(key: KeyMaterial): key is JsonWebKey {
  return typeof key === "object" && key !== null && !(key instanceof Uint8Array) && !(key instanceof KeyObject);
}

/**
 * Checks the JWK's own metadata: `kty`, and `alg`, `use` and `key_ops` if present (RFC 7517 §4.1–4.4).
 *
 * @throws `E_JWT_KEY` if any of them does not allow the use
 */
export function checkJwk(name: JwtAlgorithm, key: KeyMaterial, kty: string, use: KeyUse): CheckedJwk {
  if (!isJwk(key)) throw new AshlarError("E_JWT_KEY", `The key for ${name} must be text, bytes, a KeyObject or a JWK.`);
  const jwk: JsonWebKey = key;
  if (jwk.kty !== kty) {
    throw new AshlarError("E_JWT_KEY", `${name} needs a JWK whose "kty" is "${kty}". A set of keys is not a key.`);
  }
  if (jwk.alg !== undefined && !namesAlgorithm(jwk, name)) {
    throw new AshlarError("E_JWT_KEY", `The JWK's "alg" is ${JSON.stringify(jwk.alg)}, but it is used for ${name}.`);
  }
  if (jwk.use !== undefined && jwk.use !== "sig") {
    throw new AshlarError("E_JWT_KEY", `The JWK's "use" is ${JSON.stringify(jwk.use)}; a signature needs "sig".`);
  }
  if (jwk.key_ops !== undefined && !allowsUse(jwk, use)) {
    throw new AshlarError("E_JWT_KEY", `The JWK's "key_ops" do not include "${use}".`);
  }
  return { ...jwk, kty };
}

/**
 * Reports whether a JWK's `alg` stands for an algorithm. RFC 9864 has a separate name for `EdDSA` with each curve.
 * WebCrypto writes `Ed25519`, and most others `EdDSA`, for the same key.
 */
function namesAlgorithm({ alg, crv }: JsonWebKey, name: JwtAlgorithm): boolean {
  if (alg === name) return true;
  return (alg === "EdDSA" && name === crv) || (name === "EdDSA" && alg === crv);
}

function allowsUse(jwk: JsonWebKey, use: KeyUse): boolean {
  const operations: unknown = jwk.key_ops;
  if (!Array.isArray(operations)) return false;
  // A private key contains its public key, and a key that may sign may also verify its own signatures.
  return operations.includes(use) || (use === "verify" && jwk.d !== undefined && operations.includes("sign"));
}
