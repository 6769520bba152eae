import type { HttpContext } from "../../http/index.ts";
import { ConfigurationError, type MaybePromise } from "../../support/index.ts";
import { announce } from "../events.ts";
import { STEP_LIMIT } from "../limits.ts";

/**
 * Verifies a proof that a step asks for, such as a code. Attempts are counted by account: the caller already has the
 * password, and may use any number of addresses. They are counted before they are verified, so that parallel attempts
 * can't get past the limit.
 *
 * @throws `E_TOO_MANY_REQUESTS`; `E_INVALID_CONFIGURATION` if the application has no limits
 */
export async function proveStep(
  context: HttpContext,
  guard: string,
  user: object,
  verify: () => MaybePromise<boolean>,
): Promise<boolean> {
  const { throttle } = context.auth;
  if (throttle === null) {
    const problem = "a login step verifies a proof, and without limits it could be guessed indefinitely.";
    throw new ConfigurationError(
      "config/providers.ts: PROVIDERS",
      problem,
      'Add ThrottleProvider, from "ashlar/throttle".',
    );
  }
  const counted = { guard, user };
  await throttle.hit(context, STEP_LIMIT, counted);
  // Written so that only `true` passes.
  if ((await verify()) === true) {
    await throttle.clear(context, STEP_LIMIT, counted);
    return true;
  }
  announce(context, "auth.failed", guard, { user, identifier: null });
  return false;
}
