import { type Feature, Provider } from "../boot/index.ts";
import { ConfigurationError } from "../support/index.ts";
import type {} from "../views/index.ts";
import { IDENTITIES } from "./feature.ts";
import { ONCE_LIMIT } from "./limits.ts";
import { VISIT_SECONDS } from "./visits/visits.ts";
import "./events.ts";
import "./identity-service.ts";
import "./limits.ts";
import "./mails.ts";
import "./messages.ts";
import "./requests/request-identities.ts";

/**
 * Adds logins by accounts at other sites to the application: `context.identities`. Configured by `IDENTITIES` in
 * `config/identities.ts`. It needs the package `openid-client`: `npm install openid-client`.
 */
export class IdentitiesProvider extends Provider {
  static override readonly feature: Feature = IDENTITIES;

  /** @throws `E_INVALID_CONFIGURATION` if `config/identities.ts` can't work, or a state could be used twice */
  override boot(): void {
    const { container } = this.application;
    if (!container.has("throttle")) {
      const problem = "accounts at other sites need limits, which also make sure that each visit ends once.";
      const remedy = 'Add ThrottleProvider, from "ashlar/throttle".';
      throw new ConfigurationError("config/providers.ts: PROVIDERS", problem, remedy);
    }
    if (container.has("views")) container.make("views").shareByRequest("identities");
    const [bucket, ...more] = container.make("identities").throttle.limit(ONCE_LIMIT).buckets;
    const isOnce = bucket?.attempts === 1 && more.length === 0 && bucket.windowSeconds > VISIT_SECONDS;
    if (isOnce && bucket.by.length === 1 && bucket.by[0] === "account") return;
    const problem = `"${ONCE_LIMIT}" lets a state be used more than once.`;
    throw new ConfigurationError("config/throttle.ts: THROTTLE.limits", problem, "Remove it from config/throttle.ts.");
  }
}
