export type {
  AuthenticatorImport,
  AuthenticatorKind,
  ImportedAuthenticator,
  SecondFactor,
} from "./authenticator-kind.ts";
export { type Authenticator, Authenticators, type AuthenticatorTable, type NamedFactor } from "./authenticators.ts";
export { createAuthenticatorsTable } from "./authenticators-table.ts";
export { AUTHENTICATORS } from "./feature.ts";
export { HasAuthenticators, type HasAuthenticatorsInstance } from "./has-authenticators.ts";
