import type { FeatureProof } from "../../auth/index.ts";
import { TOTP } from "../factors/totp.ts";
import { message } from "../messages.ts";
import type { TwoFactorService } from "../two-factor.ts";

/** The step that {@link setupProof} adds. */
export const SETUP_STEP = "two_factor_setup";

/**
 * Makes a login wait until a second factor is set up, for users who need one and have none. Its page sets it up for the user of the
 * login that waits, so nothing is authenticated before.
 */
export function setupProof(service: () => TwoFactorService): FeatureProof {
  return {
    amr: [],
    has: (user) => service().lacks(user),
    step: {
      page: "two_factor.setup",
      flows: () => [{ id: TOTP, field: "code" }],
      async check({ purpose, user }) {
        // Users who are logged in already set it up on the page of their account, which asks for a confirmation.
        if (purpose === "confirmation" || (await service().isInGrace(user))) return "passed";
        return { pending: message("two_factor.setupRequired") };
      },
    },
  };
}
