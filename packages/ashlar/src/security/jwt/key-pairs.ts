import { type AsymmetricKeyDetails, createPrivateKey, createPublicKey, KeyObject } from "node:crypto";
import { AshlarError } from "../../support/index.ts";
import type { AlgorithmDetails, EddsaAlgorithm, JwtAlgorithm, RsaAlgorithm } from "./algorithms.ts";
import { checkJwk, isJwk, type KeyMaterial, type KeyUse } from "./key-material.ts";
import { pemText } from "./pem.ts";
import "./errors.ts";

/** The algorithms that use a key pair. */
export type PairAlgorithm = Exclude<AlgorithmDetails, { family: "hmac" }>;

/** The minimum size of an RSA modulus, in bits (RFC 7518 §3.3). */
const SMALLEST_MODULUS = 2048;

const KEY_TYPES: Readonly<Record<PairAlgorithm["family"], string>> = { rsa: "RSA", ecdsa: "EC", eddsa: "OKP" };

/**
 * Reads the private key to sign with and checks it against the algorithm.
 *
 * @throws `E_JWT_KEY` if it is not a private key, doesn't fit the algorithm, or is weak
 */
export function privateKey(name: JwtAlgorithm, details: PairAlgorithm, key: KeyMaterial): KeyObject {
  const read = readKey(name, details, key, "sign");
  if (read.type !== "private") throw new AshlarError("E_JWT_KEY", `To sign, ${name} needs a private key.`);
  checkPair(name, details, createPublicKey(read));
  return read;
}

/**
 * Reads the public key to verify with and checks it against the algorithm. A private key yields its public key.
 *
 * @throws `E_JWT_KEY` if it is not part of a key pair, doesn't fit the algorithm, or is weak
 */
export function publicKey(name: JwtAlgorithm, details: PairAlgorithm, key: KeyMaterial): KeyObject {
  const read = readKey(name, details, key, "verify");
  const result = read.type === "private" ? createPublicKey(read) : read;
  checkPair(name, details, result);
  return result;
}

function readKey(name: JwtAlgorithm, details: PairAlgorithm, key: KeyMaterial, use: KeyUse): KeyObject {
  if (key instanceof KeyObject) {
    if (key.type !== "secret") return key;
    throw new AshlarError("E_JWT_KEY", `${name} needs a key pair, but was given a secret.`);
  }
  if (isJwk(key)) {
    const jwk = checkJwk(name, key, KEY_TYPES[details.family], use);
    return parse(name, () =>
      jwk.d === undefined
        ? createPublicKey({ key: jwk, format: "jwk" })
        : createPrivateKey({ key: jwk, format: "jwk" }),
    );
  }
  const pem = pemText(Buffer.from(key).toString("latin1"));
  if (!pem.includes("-----BEGIN")) {
    throw new AshlarError("E_JWT_KEY", `${name} needs a key in PEM or JWK form, or a KeyObject.`);
  }
  return parse(name, () => (pem.includes("PRIVATE KEY-----") ? createPrivateKey(pem) : createPublicKey(pem)));
}

function parse(name: JwtAlgorithm, read: () => KeyObject): KeyObject {
  try {
    return read();
  } catch {
    // The cause is dropped: it could quote the key.
    throw new AshlarError("E_JWT_KEY", `The key for ${name} could not be read, or has a passphrase.`);
  }
}

function checkPair(name: JwtAlgorithm, details: PairAlgorithm, pair: KeyObject): void {
  const problem =
    details.family === "rsa"
      ? rsaProblem(details, pair)
      : details.family === "ecdsa"
        ? curveProblem(details.curve, pair)
        : edwardsProblem(details, pair);
  if (problem !== null) throw new AshlarError("E_JWT_KEY", `The key for ${name} cannot be used: ${problem}`);
}

function curveProblem(curve: string, pair: KeyObject): string | null {
  return pair.asymmetricKeyDetails?.namedCurve === curve ? null : `it is not an elliptic curve key on ${curve}.`;
}

function edwardsProblem({ curves }: EddsaAlgorithm, pair: KeyObject): string | null {
  const names: readonly (string | undefined)[] = curves;
  return names.includes(pair.asymmetricKeyType) ? null : `it is not a key of type ${curves.join(" or ")}.`;
}

/** Node's details about RSA keys. Some keys don't have all of them. */
type RsaDetails = AsymmetricKeyDetails & Required<Pick<AsymmetricKeyDetails, "modulusLength" | "publicExponent">>;

function rsaProblem(details: RsaAlgorithm, pair: KeyObject): string | null {
  const type = pair.asymmetricKeyType;
  if (type !== "rsa" && !(type === "rsa-pss" && details.scheme === "pss"))
    return "it is not an RSA key, or is one for another scheme.";
  const { modulusLength, publicExponent, hashAlgorithm, mgf1HashAlgorithm, saltLength } =
    pair.asymmetricKeyDetails as RsaDetails;
  if (modulusLength < SMALLEST_MODULUS) {
    return `its modulus has ${modulusLength} bits; at least ${SMALLEST_MODULUS} are required.`;
  }
  if (publicExponent < 3n || publicExponent % 2n === 0n)
    return "its public exponent is not an odd number of at least 3.";
  // A key of type RSASSA-PSS can restrict the parameters it may be used with (RFC 4055 §3.1).
  if (hashAlgorithm !== undefined && (hashAlgorithm !== details.hash || mgf1HashAlgorithm !== details.hash)) {
    return `it is bound to the hash ${hashAlgorithm}.`;
  }
  if (saltLength !== undefined && saltLength > details.hashBytes) return "it requires a longer salt.";
  if (type === "rsa" && hasRocaFingerprint(pair)) return "it comes from a generator with known flaws (ROCA).";
  return null;
}

/**
 * Reports whether a modulus has the fingerprint of keys that can be factored (CVE-2017-15361), which is that it is a
 * power of 65537 modulo every small prime. About one in 100 million keys from other generators has it by chance.
 */
function hasRocaFingerprint(pair: KeyObject): boolean {
  const { n } = pair.export({ format: "jwk" });
  const modulus = BigInt(`0x${Buffer.from(n!, "base64url").toString("hex")}`);
  return SMALL_PRIMES.every((prime) => isPowerOf65537(Number(modulus % BigInt(prime)), prime));
}

const SMALL_PRIMES: readonly number[] = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157];

function isPowerOf65537(remainder: number, prime: number): boolean {
  let power = 1;
  do {
    if (power === remainder) return true;
    power = (power * 65537) % prime;
  } while (power !== 1);
  return false;
}
