export { Api } from "./api.ts";
export { ApiProvider, isTokenEndpoint } from "./api-provider.ts";
export {
  AuthenticatesTokens,
  type AuthenticatesTokensInstance,
  type AuthenticatesTokensStatics,
} from "./authenticates-tokens.ts";
export { JWTAuthenticationMiddleware } from "./jwt-authentication-middleware.ts";
export { JwtGuard } from "./jwt-guard.ts";
export type { PresentedToken } from "./presented-token.ts";
export type { DriversSettings } from "./settings.ts";
export type { TokenBearer, TokenModel } from "./token-model.ts";
export {
  type TokenClaims,
  TokenService,
  type TokenVerification,
} from "./token-service.ts";
