export {
  type LoginProof,
  proofOf,
} from "./access/access-epoch.ts";
export type { CredentialHolder } from "./access/end-access.ts";
export type { Accounts } from "./accounts/accounts.ts";
export {
  MustVerifyEmail,
  type MustVerifyEmailInstance,
} from "./accounts/addresses/must-verify-email.ts";
export type { VerificationOutcome } from "./accounts/addresses/verification-outcome.ts";
export { VerifiesEmailMiddleware } from "./accounts/addresses/verifies-email-middleware.ts";
export { queueAccountMail } from "./accounts/mails/account-mail-registry.ts";
export type {
  AccountMailables,
  AccountMailData,
  AccountMailMap,
  NewDeviceData,
} from "./accounts/mails/account-mailables.ts";
export type { RemainingTokens } from "./accounts/mails/account-mails.ts";
export type { AccountsSettings } from "./accounts/mails/settings.ts";
export type {
  AuthController,
  AuthControllers,
  AuthRouteGroup,
} from "./accounts/pages/auth-controllers.ts";
export { AuthPageMiddleware } from "./accounts/pages/auth-page-middleware.ts";
export { Auth } from "./auth.ts";
export { AuthProvider } from "./auth-provider.ts";
export { tableOf } from "./checks/guard-models.ts";
export { createCredentialTable } from "./credentials/create-credential-table.ts";
export type {
  Credential,
  FoundCredential,
} from "./credentials/credential.ts";
export { DEFAULT_MAX_PER_USER, hasExpired, MAX_PER_USER } from "./credentials/credential-shape.ts";
export { CredentialTable } from "./credentials/credential-table.ts";
export { SharedCredentials } from "./credentials/shared-credentials.ts";
export type { SecurityEvent } from "./events.ts";
export type { Guard } from "./guards/guard.ts";
export type { GuardFactory } from "./guards/guard-table.ts";
export { LoginGuard } from "./guards/login-guard.ts";
export { RequestGuard } from "./guards/request-guard.ts";
export { databaseLogins } from "./logins/database/database-logins.ts";
export type {
  ListedLogin,
  Login,
  LoginOwner,
  LoginPruning,
  LoginRange,
  LoginStore,
  NewLogin,
} from "./logins/login-store.ts";
export type { LoginPage } from "./logins/user-logins.ts";
export { Authenticates } from "./models/authenticates.ts";
export type { AuthenticatesInstance, AuthenticatesStatics } from "./models/user-model.ts";
export { hasherOf } from "./passwords/model-hasher.ts";
export {
  CompleteLogin,
  type LoginResult,
  skipSteps,
  type UnfinishedLogin,
} from "./pipeline/complete-login.ts";
export type { PendingLogin } from "./pipeline/pending-logins.ts";
export type { Door } from "./proofs/door.ts";
export type { LoginFlow } from "./proofs/login-flow.ts";
export { amrOf, type LoginMethod } from "./proofs/login-methods.ts";
export type { LoginInProgress, LoginStep } from "./proofs/login-step.ts";
export type { FeatureProof } from "./proofs/proof.ts";
export type { Authentication } from "./requests/authentication.ts";
export { AuthenticationMiddleware, GuardMiddleware, LoadUserMiddleware } from "./requests/authentication-middleware.ts";
export { ConfirmPasswordMiddleware } from "./requests/confirm-password-middleware.ts";
export type { GuardsSettings } from "./settings.ts";
export type {
  AccountChanges,
  AccountStore,
  AccountUser,
  NewAccount,
} from "./users/account-store.ts";
export {
  type Authenticatable,
  type AuthenticatableClass,
  asAuthenticatable,
  isAuthenticatableClass,
  isBlocked,
  type UserClass,
  type UserId,
  userClassOf,
} from "./users/authenticatable.ts";
export type { UserDataSource } from "./users/user-data.ts";

export type { Guards } from "./web/guards-by-name.ts";
export { WebGuard } from "./web/web-guard.ts";
