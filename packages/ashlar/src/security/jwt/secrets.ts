import { createPublicKey, KeyObject, X509Certificate } from "node:crypto";
import { AshlarError } from "../../support/index.ts";
import { algorithmDetails, type HmacAlgorithm, type JwtAlgorithm } from "./algorithms.ts";
import { decodeBase64url } from "./encoding.ts";
import { checkJwk, type KeyMaterial, type KeyUse } from "./key-material.ts";
import "../errors.ts";
import "./errors.ts";

/**
 * Checks an HMAC secret and returns its bytes.
 *
 * @throws `E_WEAK_SECRET` if it is empty or shorter than the hash (RFC 7518 §3.2); `E_JWT_KEY` if it is, or looks like,
 *   another kind of key, because anyone who knows a public key could sign with it
 */
export function hmacSecret(name: JwtAlgorithm, details: HmacAlgorithm, key: KeyMaterial, use: KeyUse): Buffer {
  const bytes = secretBytes(name, key, use);
  if (bytes.length === 0) {
    throw new AshlarError("E_WEAK_SECRET", `The secret for ${name} is empty. ${remedy(details)}`);
  }
  if (looksLikeKey(bytes)) {
    throw new AshlarError(
      "E_JWT_KEY",
      `The secret for ${name} is a key in PEM, JWK or DER form, which may be public. ${remedy(details)}`,
    );
  }
  if (bytes.length < details.hashBytes) {
    throw new AshlarError(
      "E_WEAK_SECRET",
      `The secret for ${name} has ${bytes.length} bytes but needs ${details.hashBytes}. ${remedy(details)}`,
    );
  }
  return bytes;
}

/**
 * Returns the bytes of a key's secret; `null` if the algorithm is for key pairs.
 *
 * @throws `E_JWT_ALGORITHM`; `E_JWT_KEY` if it is another kind of key
 */
export function hmacSecretBytes(name: JwtAlgorithm, key: KeyMaterial): Buffer | null {
  return algorithmDetails(name).family === "hmac" ? secretBytes(name, key, "verify") : null;
}

function remedy(details: HmacAlgorithm): string {
  return `Generate one of ${details.hashBytes} random bytes.`;
}

function secretBytes(name: JwtAlgorithm, key: KeyMaterial, use: KeyUse): Buffer {
  if (typeof key === "string") return Buffer.from(key);
  if (key instanceof Uint8Array) return Buffer.from(key);
  if (key instanceof KeyObject) {
    if (key.type === "secret") return key.export();
    throw new AshlarError("E_JWT_KEY", `${name} needs a secret, but was given a ${key.type} key.`);
  }
  const jwk = checkJwk(name, key, "oct", use);
  const bytes = typeof jwk.k === "string" ? decodeBase64url(jwk.k) : null;
  if (bytes === null) throw new AshlarError("E_JWT_KEY", `The JWK for ${name} has no member "k" in base64url.`);
  return bytes;
}

/** Reports whether a secret is a key meant for another algorithm, in any form in which keys are stored. */
function looksLikeKey(bytes: Buffer): boolean {
  // Base64 includes the body of a PEM file without its first and last lines, and files stored in an environment
  // variable.
  return isKey(bytes) || isKey(Buffer.from(bytes.toString(), "base64"));
}

function isKey(bytes: Buffer): boolean {
  const text = bytes.toString().trim();
  return text.includes("-----BEGIN") || /^(ssh-|ecdsa-sha2-)/.test(text) || isJwk(text) || isDer(bytes);
}

function isJwk(text: string): boolean {
  try {
    // An array also has `keys` (its method), and may be an array of JWKs. Values without members are wrapped, and then
    // have none.
    const value: object = Object(JSON.parse(text));
    return "kty" in value || "keys" in value;
  } catch {
    return false;
  }
}

function isDer(bytes: Buffer): boolean {
  return (
    parses(() => createPublicKey({ key: bytes, format: "der", type: "spki" })) ||
    // Accepts a private key as its public key too, in PKCS#1, PKCS#8 or SEC 1 form.
    parses(() => createPublicKey({ key: bytes, format: "der", type: "pkcs1" })) ||
    parses(() => new X509Certificate(bytes))
  );
}

function parses(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}
