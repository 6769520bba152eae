import { TOKEN_LIMITS } from "../../src/api/limits.ts";
import { ACCOUNT_LIMITS } from "../../src/auth/accounts/limits.ts";
import { LOGIN_LIMITS } from "../../src/auth/limits.ts";
import { LimitRegistry } from "../../src/throttle/limits/limit-registry.ts";
import { type CompleteThrottleSettings, readThrottleSettings as read } from "../../src/throttle/settings.ts";

/** Reads `THROTTLE` in an application with all features that declare limits. */
export function readThrottleSettings(throttle: unknown): CompleteThrottleSettings {
  const registry = new LimitRegistry();
  for (const limits of [LOGIN_LIMITS, TOKEN_LIMITS, ACCOUNT_LIMITS]) registry.add(limits, "a provider");
  return read(throttle, registry.complete());
}
