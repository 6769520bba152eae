export { Api, type ApiRouteOptions } from "./api.ts";
export { ApiProvider } from "./api-provider.ts";
export {
  AuthenticatesTokens,
  type AuthenticatesTokensInstance,
  type AuthenticatesTokensStatics,
} from "./authenticates-tokens.ts";
export type { TokenEvent, TokenRefusedEvent } from "./events.ts";
export { JWTAuthenticationMiddleware } from "./jwt-authentication-middleware.ts";
export { JwtGuard } from "./jwt-guard.ts";
export type { PresentedToken } from "./presented-token.ts";
export type { DriversSettings, JwtSettings } from "./settings.ts";
export type { TokenBearer, TokenModel } from "./token-model.ts";
export {
  type TokenClaims,
  type TokenFailure,
  TokenService,
  type TokenVerification,
} from "./token-service.ts";
