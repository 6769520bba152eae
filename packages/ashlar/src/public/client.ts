export {
  ClientError,
  type ClientErrorCodes,
  type HttpClient,
  type LoginEntry,
  SessionClient,
  type StatusAnswer,
  TokenClient,
  type TokenStore,
} from "../client/index.ts";
