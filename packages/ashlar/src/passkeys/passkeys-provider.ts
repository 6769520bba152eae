import { type Feature, Provider } from "../boot/index.ts";
import { ConfigurationError } from "../support/index.ts";
import { CHALLENGE_LIMIT, CHALLENGE_SECONDS } from "./ceremony/challenges.ts";
import { PASSKEYS } from "./feature.ts";
import "./events.ts";
import "./limits.ts";
import "./mails.ts";
import "./messages.ts";
import "./passkey-service.ts";

/** Adds passkeys to the application: `context.passkeys`. Configured by `PASSKEYS` in `config/passkeys.ts`. */
export class PasskeysProvider extends Provider {
  static override readonly feature: Feature = PASSKEYS;

  /** @throws `E_INVALID_CONFIGURATION` if `config/passkeys.ts` cannot work, or challenges could be answered twice */
  override boot(): void {
    const { container } = this.application;
    if (!container.has("throttle")) {
      const problem = "passkeys need limits, which also make sure that each challenge is answered once.";
      throw new ConfigurationError(
        "config/providers.ts: PROVIDERS",
        problem,
        'Add ThrottleProvider, from "ashlar/throttle".',
      );
    }
    const [bucket, ...more] = container.make("passkeys").throttle.limit(CHALLENGE_LIMIT).buckets;
    if (
      bucket !== undefined &&
      more.length === 0 &&
      bucket.attempts === 1 &&
      bucket.windowSeconds > CHALLENGE_SECONDS
    ) {
      if (bucket.by.length === 1 && bucket.by[0] === "account") return;
    }
    const problem = `"${CHALLENGE_LIMIT}" lets a challenge be answered more than once.`;
    throw new ConfigurationError("config/throttle.ts: THROTTLE.limits", problem, "Remove it from config/throttle.ts.");
  }
}
