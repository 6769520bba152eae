export {
  AUTHENTICATORS,
  type Authenticator,
  type AuthenticatorKind,
  Authenticators,
  createAuthenticatorsTable,
  HasAuthenticators,
  type HasAuthenticatorsInstance,
  type NamedFactor,
  type SecondFactor,
} from "../authenticators/index.ts";
