export { Outage } from "./outage.ts";
export { redisScript } from "./redis-connection.ts";
export { leaseRedis, type RedisLease } from "./redis-connections.ts";
export { isRedisUnavailable } from "./redis-failure.ts";
export type { RedisSettings } from "./redis-settings.ts";
