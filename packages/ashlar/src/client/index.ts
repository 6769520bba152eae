export { ClientError } from "./client-error.ts";
export type { ClientErrorCode, ClientErrorCodes } from "./client-error-codes.ts";
export type { HttpClient } from "./http-client.ts";
export type {
  ConfirmationAnswer,
  LoginAnswer,
  LoginEntry,
  LoginList,
  RegistrationAnswer,
  StatusAnswer,
  UndoAnswer,
  VerificationAnswer,
} from "./session-answers.ts";
export { createSessionClient, type SessionClient } from "./session-client.ts";
export { createTokenClient, type TokenClient } from "./token-client.ts";
export type { TokenStore } from "./token-store.ts";
