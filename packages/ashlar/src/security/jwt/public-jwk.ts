import { createPublicKey, hash, type KeyObject, type webcrypto } from "node:crypto";
import { AshlarError } from "../../support/index.ts";
import type { JsonWebKey } from "./key-material.ts";
import type { VerificationKey } from "./keys.ts";
import "./errors.ts";

/** The members that make up a public key, by key type, in the order in which they are hashed (RFC 7638 §3.2). */
const MEMBERS = { EC: ["crv", "kty", "x", "y"], OKP: ["crv", "kty", "x"], RSA: ["e", "kty", "n"] } as const;

type PairType = keyof typeof MEMBERS;

/**
 * The thumbprint of a key (RFC 7638): the SHA-256 of its public members, 43 characters of base64url. The private key and
 * its public key have the same one.
 *
 * @param jwk a key of a key pair; other members are ignored
 * @throws `E_JWT_KEY` if it is a secret, which its hash would reveal, is of an unknown type, or lacks a member
 */
export function jwkThumbprint(jwk: JsonWebKey): string {
  const members: Readonly<Record<string, unknown>> = { ...jwk };
  const required = Object.hasOwn(MEMBERS, String(jwk.kty)) ? MEMBERS[jwk.kty as PairType] : [];
  if (required.length === 0 || required.some((name) => typeof members[name] !== "string")) {
    throw new AshlarError("E_JWT_KEY", "A thumbprint needs a complete JWK of the type EC, OKP or RSA.");
  }
  const text = JSON.stringify(Object.fromEntries(required.map((name) => [name, members[name]])));
  return hash("sha256", text, "base64url");
}

/**
 * The public key of a verification key, as a JWK (RFC 7517) for other verifiers. It has only the public key's members,
 * and `use`, `alg` and `kid`.
 *
 * @param key a key that was created from a public or private key
 * @throws `E_JWT_KEY` if it is a secret
 */
export function publicJwk(key: VerificationKey): webcrypto.JsonWebKey & { readonly kid: string } {
  if (key.publicJwk !== null) return key.publicJwk;
  throw new AshlarError("E_JWT_KEY", `A key for ${key.algorithm} is a secret, and must not be published.`);
}

/**
 * The JWK Set with which others verify tokens (RFC 7517 §5). Duplicate keys are included only once.
 *
 * ```ts
 * import { generateKeyPairSync } from "node:crypto";
 *
 * const signer = new VerificationKey("EdDSA", generateKeyPairSync("ed25519").privateKey);
 * Route.get("/keys", () => jwks([signer]));
 * ```
 *
 * @param keys the keys that still verify tokens, and the next signing key
 * @throws `E_JWT_KEY` if one of them is a secret
 */
export function jwks(keys: readonly VerificationKey[]): {
  readonly keys: readonly ReturnType<typeof publicJwk>[];
} {
  const byName = new Map(keys.map((key) => [`${key.algorithm} ${publicJwk(key).kid}`, publicJwk(key)]));
  return Object.freeze({ keys: Object.freeze([...byName.values()]) });
}

/** The public key's members, without any private ones. */
export function publicMembers(key: KeyObject): JsonWebKey {
  const exported: Readonly<Record<string, unknown>> = { ...jwkReady(key).export({ format: "jwk" }) };
  const names = MEMBERS[exported.kty as PairType];
  return Object.fromEntries(names.map((name) => [name, exported[name]]));
}

/** Node can't export an RSASSA-PSS key as a JWK. As a plain RSA key, it has the same numbers. */
function jwkReady(key: KeyObject): KeyObject {
  if (key.asymmetricKeyType !== "rsa-pss") return key;
  const spki = key.export({ type: "spki", format: "der" });
  // SEQUENCE { SEQUENCE { algorithm }, BIT STRING { RSAPublicKey } } (RFC 5280 §4.1).
  const algorithm = element(spki, element(spki, 0).start);
  // The first byte of a BIT STRING counts unused bits.
  const { start, end } = element(spki, algorithm.end);
  return createPublicKey({ key: spki.subarray(start + 1, end), format: "der", type: "pkcs1" });
}

/** The start and the end of the content of the DER element at an offset. */
function element(der: Buffer, offset: number): { readonly start: number; readonly end: number } {
  const first = der[offset + 1]!;
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  const start = offset + 2 + lengthBytes;
  return { start, end: start + (lengthBytes === 0 ? first : der.readUIntBE(offset + 2, lengthBytes)) };
}
