export { AbilityMiddleware, AnyAbilityMiddleware } from "./ability-middleware.ts";
export { Api, type PersonalTokensController } from "./api.ts";
export { ApiProvider, isTokenController, isTokenEndpoint, tokenLimitOf } from "./api-provider.ts";
export {
  AuthenticatesTokens,
  type AuthenticatesTokensInstance,
  type AuthenticatesTokensStatics,
} from "./authenticates-tokens.ts";
export type { ForeignGuard } from "./foreign/foreign-guard.ts";
export { JWTAuthenticationMiddleware } from "./jwt-authentication-middleware.ts";
export { JwtGuard } from "./jwt-guard.ts";
export { TOKEN_TABLE } from "./many/token-table.ts";
export type {
  CreatedPersonalToken,
  PersonalToken,
  PersonalTokenService,
} from "./personal/personal-token-service.ts";
export { PERSONAL_TOKEN_TABLE } from "./personal/personal-token-table.ts";
export type { PersonalTokenPage, PersonalTokens } from "./personal/personal-tokens.ts";
export { personal } from "./personal/settings.ts";
export type { PresentedToken } from "./presented-token.ts";
export type { PresentedTokens } from "./presented-tokens.ts";
export type { DriversSettings } from "./settings.ts";
export type { TokenDriver, TokenDrivers } from "./token-drivers.ts";
export type { TokenBearer, TokenModel } from "./token-model.ts";
export { TokenService } from "./token-service.ts";
export { type IssuedToken, many, single } from "./token-strategy.ts";
export type { TokenClaims, TokenVerification, TokenVerifier, VerifiedToken } from "./token-verifier.ts";
