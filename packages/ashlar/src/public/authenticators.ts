export {
  AUTHENTICATORS,
  type Authenticator,
  type AuthenticatorKind,
  Authenticators,
  createAuthenticatorsTable,
  type NamedFactor,
  type SecondFactor,
} from "../authenticators/index.ts";
