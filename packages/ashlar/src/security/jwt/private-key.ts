import { generateKeyPair, type KeyObject } from "node:crypto";
import { algorithmDetails, type JwtAlgorithm } from "./algorithms.ts";

/** Its types tell each kind of key apart. */
const generate = generateKeyPair as (
  type: string,
  options: object,
  done: (error: Error | null, publicKey: KeyObject, privateKey: KeyObject) => void,
) => void;

/** NIST SP 800-57 part 1: enough beyond 2030. */
const RSA_BITS = 3072;

/** The algorithms whose keys `ashlar key:generate --jwt` makes by name. */
export const KEY_ALGORITHMS = ["ES256", "EdDSA", "Ed25519", "RS256"] as const;

/** An algorithm whose keys the command makes by name. */
export type KeyAlgorithm = (typeof KEY_ALGORITHMS)[number];

/**
 * Generates a private key for an algorithm of `PAIR_ALGORITHMS`.
 *
 * @returns the key in PEM (PKCS #8)
 */
export async function generatePrivateKey(algorithm: JwtAlgorithm): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<KeyObject>();
  generate(...kindOf(algorithm), (error, _, privateKey) => (error === null ? resolve(privateKey) : reject(error)));
  return (await promise).export({ type: "pkcs8", format: "pem" }).toString();
}

function kindOf(algorithm: JwtAlgorithm): [type: string, options: object] {
  const details = algorithmDetails(algorithm);
  switch (details.family) {
    case "ecdsa":
      return ["ec", { namedCurve: details.curve }];
    case "eddsa":
      return [details.curves[0]!, {}];
    case "rsa":
      return ["rsa", { modulusLength: RSA_BITS }];
    case "hmac":
      throw new TypeError(`${algorithm} has a secret, and no private key.`);
  }
}
