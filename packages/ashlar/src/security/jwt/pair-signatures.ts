import { constants, type KeyObject, type SignKeyObjectInput, sign, verify } from "node:crypto";
import { decodeBase64url } from "./encoding.ts";
import type { PairAlgorithm } from "./key-pairs.ts";

/** The options for signing with a key pair in node:crypto. */
export interface PairParameters {
  /** The hash's name; `null` if the algorithm includes a hash. */
  readonly hash: string | null;
  readonly input: Readonly<SignKeyObjectInput>;
}

/** Prepares a key pair's key for {@link signWithPair} and {@link verifyWithPair}. */
export function pairParameters(details: PairAlgorithm, key: KeyObject): PairParameters {
  switch (details.family) {
    case "rsa":
      return details.scheme === "pkcs1"
        ? { hash: details.hash, input: { key, padding: constants.RSA_PKCS1_PADDING } }
        : {
            hash: details.hash,
            input: { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: details.hashBytes },
          };
    case "ecdsa":
      // RFC 7518 §3.4 puts R and S side by side; OpenSSL's default is DER.
      return { hash: details.hash, input: { key, dsaEncoding: "ieee-p1363" } };
    case "eddsa":
      return { hash: null, input: { key } };
  }
}

/** The signature of a signing input, as base64url. */
export function signWithPair(parameters: PairParameters, input: string): string {
  return sign(parameters.hash, Buffer.from(input), parameters.input).toString("base64url");
}

/** Reports whether the part of a token after its second dot is a signature of the part before it. */
export function verifyWithPair(parameters: PairParameters, token: string, dot: number): boolean {
  const signature = decodeBase64url(token.slice(dot + 1));
  if (signature === null) return false;
  try {
    return verify(parameters.hash, Buffer.from(token.slice(0, dot)), parameters.input, signature);
  } catch {
    // A signature that OpenSSL rejects for any reason is not valid.
    return false;
  }
}
