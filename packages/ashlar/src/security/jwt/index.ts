export { type JwtAlgorithm, PAIR_ALGORITHMS } from "./algorithms.ts";
export { JwtError, type JwtFailure } from "./errors.ts";
export type { JsonWebKey, KeyMaterial } from "./key-material.ts";
export { SigningKey, VerificationKey } from "./keys.ts";
export { pemBlocks, pemText } from "./pem.ts";
export { generatePrivateKey, KEY_ALGORITHMS, type KeyAlgorithm, keyCommand, privateKeyFor } from "./private-key.ts";
export { jwks, jwkThumbprint, publicJwk } from "./public-jwk.ts";
export { readJwks } from "./read-jwks.ts";
export { hmacSecretBytes } from "./secrets.ts";
export { signJws, signJwt } from "./sign.ts";
export {
  type JwtClaims,
  type JwtVerifyOptions,
  tryVerifyJwt,
  unverifiedHeader,
  verifyJws,
  verifyJwt,
} from "./verify.ts";
