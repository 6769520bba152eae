export {
  type AccessConditions,
  type AccessHolder,
  holdsAccess,
  staleProof,
} from "./access-epoch.ts";
export type {
  AccountMailables,
  EmailChangeCompletedData,
  EmailChangedData,
  EmailChangeUndoneData,
  EmailTakenData,
  FinishRegistrationData,
  NewDeviceData,
  PasswordChangedData,
  ResetPasswordData,
  VerifyEmailData,
} from "./accounts/account-mailables.ts";
export type { Accounts } from "./accounts/accounts.ts";
export type {
  AuthControllers,
  AuthRouteGroup,
  ChangeEmailController,
  ChangePasswordController,
  ConfirmPasswordController,
  ForgotPasswordController,
  HomeController,
  LoginController,
  RegisterController,
  ResetPasswordController,
  SessionsController,
  UndoEmailChangeController,
  VerifyEmailController,
} from "./accounts/auth-controllers.ts";
export { AuthPageMiddleware } from "./accounts/auth-page-middleware.ts";
export type { AuthRouteOptions } from "./accounts/auth-routes.ts";
export type { AccountsSettings } from "./accounts/configuration.ts";
export type {
  AccountEvent,
  EmailChangeEvent,
  PasswordResetRequestedEvent,
  VerificationSentEvent,
} from "./accounts/events.ts";
export {
  MustVerifyEmail,
  type MustVerifyEmailInstance,
} from "./accounts/must-verify-email.ts";
export type { RegistrationAttributes } from "./accounts/register-user.ts";
export type { RemainingTokens } from "./accounts/remaining-tokens.ts";
export type { VerificationOutcome } from "./accounts/verification-outcome.ts";
export { VerifiesEmailMiddleware } from "./accounts/verifies-email-middleware.ts";
export { Auth } from "./auth.ts";
export { AuthProvider, installAuth } from "./auth-provider.ts";
export {
  type Authenticatable,
  type AuthenticatableClass,
  isAuthenticatableClass,
  type UserId,
} from "./authenticatable.ts";
export {
  Authenticates,
  type AuthenticatesInstance,
  type AuthenticatesStatics,
} from "./authenticates.ts";
export { AuthenticationMiddleware } from "./authentication-middleware.ts";
export { ConfirmPasswordMiddleware } from "./confirm-password-middleware.ts";
export type {
  FailedLoginEvent,
  LoginEvent,
  NewDeviceEvent,
  SecurityEvent,
} from "./events.ts";
export { Guard, type LoginOptions } from "./guard.ts";
export { GuardMiddleware } from "./guard-middleware.ts";
export type { GuardDriver, GuardFactory, GuardSettings } from "./guard-registry.ts";
export { LoadUserMiddleware } from "./load-user-middleware.ts";
export { hasherOf } from "./model-hasher.ts";
export type { PasswordSettings } from "./password-settings.ts";
export { isUserClassOf } from "./users-of.ts";
export type { SessionInfo } from "./web/user-sessions.ts";
export { writeColumns } from "./write-column.ts";
