export { ApiProvider } from "./api-provider.ts";
export {
  AuthenticatesTokens,
  type AuthenticatesTokensInstance,
  type AuthenticatesTokensStatics,
} from "./authenticates-tokens.ts";
export { type IssuingDriver, issuingDriversIn } from "./checks/issuing-drivers.ts";
export type { Drivers } from "./drivers/drivers.ts";
export type { Issuer } from "./drivers/issuer.ts";
export {
  Api,
  type PersonalTokensController,
} from "./endpoints/api.ts";
export { AbilityMiddleware, AnyAbilityMiddleware } from "./requests/ability-middleware.ts";
export type { ForeignGuard } from "./requests/foreign-guard.ts";
export { JWTAuthenticationMiddleware } from "./requests/jwt-authentication-middleware.ts";
export { JwtGuard } from "./requests/jwt-guard.ts";
export type { PersonalTokens } from "./requests/personal-tokens.ts";
export type { PresentedToken } from "./requests/presented-token.ts";
export type { DriversSettings } from "./settings/driver-settings.ts";
export { many, personal, single } from "./settings/token-settings.ts";
export type { PersonalToken } from "./stores/personal-store.ts";
export type { TokenHolder } from "./token-holder.ts";
export type { TokenClaims } from "./verifier.ts";
