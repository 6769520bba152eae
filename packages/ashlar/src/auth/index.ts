export {
  type AccessConditions,
  type AccessHolder,
  type CredentialHolder,
  holdsAccess,
  staleProof,
} from "./access-epoch.ts";
export type {
  AccountChanges,
  AccountConditions,
  AccountStore,
  AccountUser,
  NewAccount,
} from "./account-store.ts";
export { declareAccountMails, queueAccountMail } from "./accounts/account-mail-registry.ts";
export type {
  AccountMailables,
  AccountMailData,
  AccountMailMap,
  NewDeviceData,
} from "./accounts/account-mailables.ts";
export type { Accounts } from "./accounts/accounts.ts";
export type {
  AuthController,
  AuthControllers,
  AuthRouteGroup,
} from "./accounts/auth-controllers.ts";
export { AuthPageMiddleware } from "./accounts/auth-page-middleware.ts";
export {
  MustVerifyEmail,
  type MustVerifyEmailInstance,
} from "./accounts/must-verify-email.ts";
export type { RemainingTokens } from "./accounts/remaining-tokens.ts";
export type { AccountsSettings } from "./accounts/settings.ts";
export type { VerificationOutcome } from "./accounts/verification-outcome.ts";
export { VerifiesEmailMiddleware } from "./accounts/verifies-email-middleware.ts";
export { Auth } from "./auth.ts";
export { AuthProvider, installAuth } from "./auth-provider.ts";
export {
  type Authenticatable,
  type AuthenticatableClass,
  isAuthenticatableClass,
  type UserClass,
  type UserId,
  userClassOf,
} from "./authenticatable.ts";
export {
  Authenticates,
  type AuthenticatesInstance,
  type AuthenticatesStatics,
} from "./authenticates.ts";
export { AuthenticationMiddleware } from "./authentication-middleware.ts";
export { ConfirmPasswordMiddleware } from "./confirm-password-middleware.ts";
export type { SecurityEvent } from "./events.ts";
export type { Guard, Guards } from "./guard.ts";
export { GuardMiddleware } from "./guard-middleware.ts";
export type { GuardDriver, GuardFactory } from "./guard-registry.ts";
export { PASSWORD_LIMIT } from "./limits.ts";
export { LoadUserMiddleware } from "./load-user-middleware.ts";
export { LoginGuard, type LoginOptions } from "./login-guard.ts";
export { databaseLogins } from "./logins/database/database-logins.ts";
export type {
  FoundLogin,
  KeptLogin,
  ListedLogin,
  Login,
  LoginOwner,
  LoginProof,
  LoginPruning,
  LoginReference,
  LoginRenewal,
  LoginStore,
  LoginUse,
  NewLogin,
  PrunedLogins,
} from "./logins/login-store.ts";
export type { LoginInfo } from "./logins/user-logins.ts";
export { hasherOf } from "./model-hasher.ts";
export {
  CompleteLogin,
  type LoginInProgress,
  LoginPendingError,
  type LoginPurpose,
  type LoginResult,
  type LoginStep,
  type StepOutcome,
  type UnfinishedLogin,
} from "./pipeline/login-step.ts";
export type { PendingLogin } from "./pipeline/pending-logins.ts";
export { RequestGuard } from "./request-guard.ts";
export { authSettingsOf, type GuardsSettings } from "./settings.ts";
export { isUserClassOf } from "./users-of.ts";
export { WebGuard } from "./web/web-guard.ts";
export { writeColumns } from "./write-column.ts";
