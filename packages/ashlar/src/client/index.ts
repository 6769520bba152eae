export { ClientError } from "./client-error.ts";
export type { ClientErrorCodes } from "./client-error-codes.ts";
export type { ClientFlow } from "./client-flow.ts";
export type { HttpClient } from "./http-client.ts";
export { type LoginEntry, type PendingAnswer, SessionClient, type StatusAnswer } from "./session-client.ts";
export { TokenClient } from "./token-client.ts";
export type { TokenStore } from "./token-store.ts";
