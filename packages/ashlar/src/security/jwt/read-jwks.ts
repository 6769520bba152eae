import { AshlarError, isPlainObject } from "../../support/index.ts";
import type { JwtAlgorithm } from "./algorithms.ts";
import type { JsonWebKey } from "./key-material.ts";
import { VerificationKey } from "./keys.ts";
import "./errors.ts";

/** The usable part of an issuer's published keys. */
export interface ReadJwks {
  readonly keys: readonly VerificationKey[];
  /**
   * The number of unusable entries: for another purpose, of an unknown type, weak, malformed, or with a duplicate name.
   */
  readonly ignored: number;
}

/** The members of private keys and secrets (RFC 7518 §6, RFC 8037 §2). */
const PRIVATE = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];
/** An RSA modulus of 8192 bits and an exponent of 64 bits, in base64url: larger ones make each verification slow. */
const MAX_MODULUS_LENGTH = 1366;
const MAX_EXPONENT_LENGTH = 11;
const MAX_KID_LENGTH = 256;

/**
 * Reads another issuer's JWK Set (RFC 7517 §5). Entries that cannot be used are ignored, as §5 requires: the set may
 * have keys for other purposes, or of future types. An entry with a private key or a secret is ignored too, because it
 * is no longer secret.
 *
 * @param value the document
 * @param algorithms the algorithms that tokens may be signed with; a key without `alg` is used for each of them that it
 * fits
 * @param maxKeys the largest number of entries
 * @throws `E_JWT_KEY` if it is not a JWK Set, or has more than `maxKeys` entries
 */
export function readJwks(value: unknown, algorithms: readonly JwtAlgorithm[], maxKeys: number): ReadJwks {
  const entries = isPlainObject(value) ? value.keys : undefined;
  if (!Array.isArray(entries)) throw new AshlarError("E_JWT_KEY", 'It is not a JWK Set: it has no list "keys".');
  if (entries.length > maxKeys) {
    throw new AshlarError("E_JWT_KEY", `It has ${entries.length} keys; at most ${maxKeys} are read.`);
  }
  const keys: VerificationKey[] = [];
  let ignored = 0;
  for (const entry of entries) {
    const jwk = isUsable(entry) ? entry : null;
    const created = jwk === null ? [] : algorithms.flatMap((algorithm) => keyOf(algorithm, jwk));
    // If two keys have the same name, only the first is used, because we can't know which one was meant.
    const fresh = created.filter((key) => !keys.some((other) => isSame(key, other)));
    if (fresh.length === 0) ignored++;
    keys.push(...fresh);
  }
  return { keys: Object.freeze(keys), ignored };
}

function isUsable(entry: unknown): entry is JsonWebKey {
  if (!isPlainObject(entry) || PRIVATE.some((name) => Object.hasOwn(entry, name))) return false;
  const { kid, n, e } = entry;
  return (
    (kid === undefined || (typeof kid === "string" && kid !== "" && kid.length <= MAX_KID_LENGTH)) &&
    (n === undefined || (typeof n === "string" && n.length <= MAX_MODULUS_LENGTH)) &&
    (e === undefined || (typeof e === "string" && e.length <= MAX_EXPONENT_LENGTH))
  );
}

function keyOf(algorithm: JwtAlgorithm, jwk: JsonWebKey): VerificationKey[] {
  try {
    return [new VerificationKey(algorithm, jwk)];
  } catch (error) {
    if (error instanceof AshlarError) return [];
    throw error;
  }
}

function isSame(key: VerificationKey, other: VerificationKey): boolean {
  return key.kid !== null && key.kid === other.kid && key.algorithm === other.algorithm;
}
