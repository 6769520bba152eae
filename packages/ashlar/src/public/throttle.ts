export {
  type BucketResult,
  type BucketSettings,
  type HitOptions,
  type LimitSettings,
  type LockoutEvent,
  type Throttle,
  type ThrottleKeys,
  ThrottleMiddleware,
  type ThrottlePart,
  ThrottleProvider,
  type ThrottleResult,
  type ThrottleSettings,
} from "../throttle/index.ts";
