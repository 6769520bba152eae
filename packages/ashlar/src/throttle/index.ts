export type { AccountIdentity, NamedAccount, ThrottleAccounts } from "./accounts.ts";
export { databaseStore } from "./database-store.ts";
export { DefaultStore } from "./default-store.ts";
export type { LockoutEvent } from "./events.ts";
export { type AttemptKeys, accountDigest, type CountedDevice, type ThrottleKeys } from "./keys.ts";
export type { ByLimit, LimitName, Limits } from "./limit-name.ts";
export { declareLimits, limitsOf } from "./limit-registry.ts";
export { MemoryStore, memoryStore } from "./memory-store.ts";
export { createRateLimitsTable, RATE_LIMITS_TABLE } from "./rate-limits-table.ts";
export { RedisStore, redisStore } from "./redis-store.ts";
export type { BucketResult, ThrottleResult } from "./result.ts";
export type {
  Bucket,
  LimitDeclaration,
  ThrottleSettings,
} from "./settings.ts";
export type { AttemptCount, AttemptCounter, CountChange, ThrottleStore } from "./store.ts";
export { Throttle, tooManyRequests, waitOf } from "./throttle.ts";
export { ThrottleMiddleware } from "./throttle-middleware.ts";
export { ThrottleProvider } from "./throttle-provider.ts";
