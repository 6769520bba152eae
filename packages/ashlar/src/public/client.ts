export {
  ClientError,
  type ClientErrorCodes,
  type ClientFlow,
  type HttpClient,
  type LoginEntry,
  type PendingAnswer,
  SessionClient,
  type StatusAnswer,
  TokenClient,
  type TokenStore,
} from "../client/index.ts";
