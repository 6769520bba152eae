export {
  AUTHENTICATORS,
  type Authenticator,
  type AuthenticatorImport,
  type AuthenticatorKind,
  Authenticators,
  createAuthenticatorsTable,
  HasAuthenticators,
  type HasAuthenticatorsInstance,
  type ImportedAuthenticator,
  type NamedFactor,
  type SecondFactor,
} from "../authenticators/index.ts";
