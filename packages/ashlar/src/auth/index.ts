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
export type { AuthConfiguration, GuardEntry } from "./configuration.ts";
export { ConfirmPasswordMiddleware } from "./confirm-password-middleware.ts";
export {
  announce,
  type FailedLoginEvent,
  type LoginEvent,
  type NewDeviceEvent,
  type SecurityEvent,
} from "./events.ts";
export { Guard, type LoginOptions } from "./guard.ts";
export { GuardMiddleware } from "./guard-middleware.ts";
export { type GuardDriver, type GuardFactory, GuardRegistry, type GuardSettings } from "./guard-registry.ts";
export { LoadUserMiddleware } from "./load-user-middleware.ts";
export { endAllSessions, pruneSessions, type SessionId } from "./web/session-table.ts";
export { type SessionInfo, UserSessions } from "./web/user-sessions.ts";
export { writeColumn } from "./write-column.ts";
