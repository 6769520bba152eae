import { generateKeyPair, type KeyObject } from "node:crypto";
import { algorithmDetails, type JwtAlgorithm, PAIR_ALGORITHMS } from "./algorithms.ts";

/** Typed to distinguish the kinds of keys. */
const generate = generateKeyPair as (
  type: string,
  options: object,
  done: (error: Error | null, publicKey: KeyObject, privateKey: KeyObject) => void,
) => void;

/** Secure beyond 2030 (NIST SP 800-57 part 1). */
const RSA_BITS = 3072;

/** The algorithms that `ashlar key:generate --jwt` accepts by name. */
export const KEY_ALGORITHMS = ["ES256", "EdDSA", "Ed25519", "RS256"] as const;

/** An algorithm that the command accepts by name. */
export type KeyAlgorithm = (typeof KEY_ALGORITHMS)[number];

/**
 * The command that generates a driver's secret or private key, even if it doesn't accept the algorithm by name.
 *
 * @param driver its name in `DRIVERS`
 * @param algorithm the algorithm, as named in the driver
 */
export function keyCommand(driver: string, algorithm: unknown): string {
  if (!KEY_ALGORITHMS.some((one) => one === algorithm)) return "npx ashlar key:generate";
  return `npx ashlar key:generate --jwt ${algorithm}${driver === "jwt" ? "" : ` --driver ${driver}`}`;
}

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

/**
 * Generates a private key for a driver's algorithm.
 *
 * @param algorithm the algorithm, as named in the driver
 * @returns the key in PEM (PKCS #8); `null` if the algorithm uses a secret instead
 */
export async function privateKeyFor(algorithm: unknown): Promise<string | null> {
  const pair = PAIR_ALGORITHMS.find((one) => one === algorithm);
  return pair === undefined ? null : await generatePrivateKey(pair);
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
