import { createPublicKey, KeyObject, X509Certificate } from "node:crypto";
import { AshlarError } from "../../support/index.ts";
import type { HmacAlgorithm, JwtAlgorithm } from "./algorithms.ts";
import { decodeBase64url } from "./base64url.ts";
import { checkJwk, type KeyMaterial, type KeyUse } from "./key-material.ts";

/**
 * The bytes of an HMAC secret, checked.
 *
 * @throws `E_WEAK_SECRET` where it is empty or shorter than the hash (RFC 7518 §3.2); `E_JWT_KEY` where it is, or looks
 *   like, a key of another kind: whoever knows a public key could sign with it
 */
export function hmacSecret(name: JwtAlgorithm, details: HmacAlgorithm, key: KeyMaterial, use: KeyUse): Buffer {
  const bytes = secretBytes(name, key, use);
  if (bytes.length === 0) {
    throw new AshlarError("E_WEAK_SECRET", `The secret for ${name} is empty. ${remedy(details)}`);
  }
  if (looksLikeKey(bytes)) {
    throw new AshlarError(
      "E_JWT_KEY",
      `The secret for ${name} is a key in PEM, JWK or DER form, which others may know. ${remedy(details)}`,
    );
  }
  if (bytes.length < details.hashBytes) {
    throw new AshlarError(
      "E_WEAK_SECRET",
      `The secret for ${name} has ${bytes.length} bytes and needs ${details.hashBytes}. ${remedy(details)}`,
    );
  }
  return bytes;
}

function remedy(details: HmacAlgorithm): string {
  return `Make one of ${details.hashBytes} random bytes.`;
}

function secretBytes(name: JwtAlgorithm, key: KeyMaterial, use: KeyUse): Buffer {
  if (typeof key === "string") return Buffer.from(key);
  if (key instanceof Uint8Array) return Buffer.from(key);
  if (key instanceof KeyObject) {
    if (key.type === "secret") return key.export();
    throw new AshlarError("E_JWT_KEY", `${name} needs a secret, and was given a ${key.type} key.`);
  }
  const jwk = checkJwk(name, key, "oct", use);
  const bytes = typeof jwk.k === "string" ? decodeBase64url(jwk.k) : null;
  if (bytes === null) throw new AshlarError("E_JWT_KEY", `The JWK for ${name} has no member "k" in base64url.`);
  return bytes;
}

/** Whether a secret is a key that was meant for another algorithm, in any of the forms in which keys are kept. */
function looksLikeKey(bytes: Buffer): boolean {
  // In base64 there are the body of a PEM file without its first and last line, and files that a variable holds.
  return isKey(bytes) || isKey(Buffer.from(bytes.toString(), "base64"));
}

function isKey(bytes: Buffer): boolean {
  const text = bytes.toString().trim();
  return text.includes("-----BEGIN") || /^(ssh-|ecdsa-sha2-)/.test(text) || isJwk(text) || isDer(bytes);
}

function isJwk(text: string): boolean {
  try {
    // A list has `keys` as well, its method, and may be one of JWKs. What holds nothing is wrapped, and has neither.
    const value: object = Object(JSON.parse(text));
    return "kty" in value || "keys" in value;
  } catch {
    return false;
  }
}

function isDer(bytes: Buffer): boolean {
  return (
    parses(() => createPublicKey({ key: bytes, format: "der", type: "spki" })) ||
    // Takes a private key for its public one too, be it in PKCS#1, PKCS#8 or SEC 1.
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
