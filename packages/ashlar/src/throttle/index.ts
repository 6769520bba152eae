export type { AccountIdentity, NamedAccount, ThrottleAccounts } from "./accounts.ts";
export { EMAIL_TAKEN_LIMIT, NEW_DEVICE_LIMIT, PASSWORD_LIMIT } from "./default-limits.ts";
export type { LockoutEvent } from "./events.ts";
export { accountDigest, type ThrottleKeys } from "./keys.ts";
export type { BucketResult, ThrottleResult } from "./result.ts";
export type { BucketSettings, LimitSettings, ThrottlePart, ThrottleSettings } from "./settings.ts";
export { type HitOptions, Throttle } from "./throttle.ts";
export { ThrottleMiddleware } from "./throttle-middleware.ts";
export { ThrottleProvider } from "./throttle-provider.ts";
