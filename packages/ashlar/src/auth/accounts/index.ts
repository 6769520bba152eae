export type {
  AccountMailableClass,
  AccountMailables,
  EmailChangedData,
  NewDeviceData,
  PasswordChangedData,
  ResetPasswordData,
  VerifyEmailData,
} from "./account-mailables.ts";
export { AccountService } from "./account-service.ts";
export { Accounts } from "./accounts.ts";
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
  VerifyEmailController,
} from "./auth-controllers.ts";
export { AuthPageMiddleware } from "./auth-page-middleware.ts";
export { authRoutes } from "./auth-routes.ts";
export type { AccountsSettings } from "./configuration.ts";
export type {
  AccountEvent,
  EmailChangeEvent,
  PasswordResetRequestedEvent,
  VerificationSentEvent,
} from "./events.ts";
export { installAccounts, startAccounts } from "./install-accounts.ts";
export { MustVerifyEmail, type MustVerifyEmailInstance, type MustVerifyEmailStatics } from "./must-verify-email.ts";
export type { RegistrationAttributes } from "./register-user.ts";
export { VerifiesEmailMiddleware } from "./verifies-email-middleware.ts";
export type { VerificationOutcome } from "./verify-email.ts";
