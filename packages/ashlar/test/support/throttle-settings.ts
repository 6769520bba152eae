import { TOKEN_LIMITS } from "../../src/api/limits.ts";
import { ACCOUNT_LIMITS } from "../../src/auth/accounts/limits.ts";
import { LOGIN_LIMITS } from "../../src/auth/limits.ts";
import { ThrottleProvider } from "../../src/throttle/index.ts";
import { type CompleteThrottleSettings, readThrottleSettings as read } from "../../src/throttle/settings.ts";

/** Reads `THROTTLE` in an application with all features that declare limits. */
export function readThrottleSettings(throttle: unknown): CompleteThrottleSettings {
  const { limits: base } = ThrottleProvider.feature;
  return read(throttle, { ...base, ...LOGIN_LIMITS, ...TOKEN_LIMITS, ...ACCOUNT_LIMITS });
}
