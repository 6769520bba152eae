export { type JwtAlgorithm, PAIR_ALGORITHMS } from "./algorithms.ts";
export type { JwtClaims } from "./claims.ts";
export { unverifiedHeader } from "./compact.ts";
export { JwtError, type JwtFailure } from "./errors.ts";
export type { JsonWebKey, KeyMaterial } from "./key-material.ts";
export {
  createSigningKey,
  createVerificationKey,
  type JwsHeader,
  type SigningKey,
  type VerificationKey,
} from "./keys.ts";
export { pemBlocks, pemText } from "./pem.ts";
export { generatePrivateKey, KEY_ALGORITHMS, type KeyAlgorithm, keyCommand, privateKeyFor } from "./private-key.ts";
export { type Jwks, jwks, jwkThumbprint, type PublicJwk, publicJwk } from "./public-jwk.ts";
export { readJwks } from "./read-jwks.ts";
export { hmacSecretBytes } from "./secrets.ts";
export { signJws } from "./sign-jws.ts";
export { signJwt } from "./sign-jwt.ts";
export { type VerifiedJws, verifyJws } from "./verify-jws.ts";
export { type JwtVerification, tryVerifyJwt, verifyJwt } from "./verify-jwt.ts";
export type { JwtVerifyOptions } from "./verify-options.ts";
