export {
  type AccountIdentity,
  type AttemptKeys,
  accountDigest,
  type CountedDevice,
  type NamedAccount,
  type ThrottleAccounts,
  type ThrottleKeys,
} from "./counting/attempt-keys.ts";
export { type ThrottleResult, tooManyRequests, waitOf } from "./counting/results.ts";
export type { LockoutEvent } from "./events.ts";
export type { ByLimit, LimitName, Limits } from "./limit-name.ts";
export type { Bucket, LimitDeclaration } from "./limits/limit.ts";
export type { ThrottleSettings } from "./settings.ts";
export { databaseStore } from "./stores/database-store.ts";
export { memoryStore } from "./stores/memory-store.ts";
export { createRateLimitsTable } from "./stores/rate-limits-table.ts";
export { redisStore } from "./stores/redis-store.ts";
export type { AttemptCounter, ThrottleStore } from "./stores/store.ts";
export { Throttle } from "./throttle.ts";
export { isStrictLimit, limitIn, ThrottleMiddleware } from "./throttle-middleware.ts";
export { ThrottleProvider } from "./throttle-provider.ts";
