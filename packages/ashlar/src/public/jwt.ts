export { RemoteKeys } from "../security/jwks/index.ts";
export {
  type JwtAlgorithm,
  type JwtClaims,
  JwtError,
  jwks,
  jwkThumbprint,
  publicJwk,
  SigningKey,
  signJws,
  signJwt,
  tryVerifyJwt,
  VerificationKey,
  verifyJws,
  verifyJwt,
} from "../security/jwt/index.ts";
