export {
  type Bucket,
  createRateLimitsTable,
  databaseStore,
  type Limits,
  memoryStore,
  redisStore,
  type Throttle,
  ThrottleMiddleware,
  ThrottleProvider,
  type ThrottleResult,
  type ThrottleSettings,
  type ThrottleStore,
} from "../throttle/index.ts";
