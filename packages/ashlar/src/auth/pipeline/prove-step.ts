import type { HttpContext } from "../../http/index.ts";
import { ConfigurationError, type MaybePromise } from "../../support/index.ts";
import type { LimitName, ThrottleResult } from "../../throttle/index.ts";
import { accessEpochOf } from "../access/access-epoch.ts";
import { announce } from "../events.ts";
import { STEP_LIMIT, STEP_TOTAL_LIMIT } from "../limits.ts";
import type { GivenFactor } from "../proofs/login-methods.ts";
import type { Authenticatable } from "../users/authenticatable.ts";

/**
 * Verifies a proof that a step asks for, such as a code. Attempts are counted by account and step, at all guards
 * together: the caller already has the password, and may use any number of addresses. They are counted before they are
 * verified, so that parallel attempts can't get past the limit.
 *
 * Once access to the account has ended, most of them no longer count, so that attempts by someone with the old password
 * don't keep the owner out after it was replaced.
 *
 * @param step the name of the step
 * @param factor the proof that was given, if it isn't the step's own
 * @param limit the name of the limit that counts the attempts; default: those of steps
 * @throws `E_TOO_MANY_REQUESTS`; `E_INVALID_CONFIGURATION` if the application has no limits
 */
export async function proveStep(
  context: HttpContext,
  guard: string,
  user: object,
  step: string,
  verify: () => MaybePromise<boolean>,
  factor?: GivenFactor,
  limit?: LimitName,
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
  const epoch = accessEpochOf(user as Authenticatable);
  const counts: readonly (readonly [LimitName, string])[] =
    limit === undefined
      ? [
          [STEP_LIMIT, `${step}\0${epoch}`],
          [STEP_TOTAL_LIMIT, step],
        ]
      : [[limit, step]];
  const attempts: (readonly [LimitName, ThrottleResult])[] = [];
  for (const [name, subject] of counts) {
    attempts.push([name, await throttle.hit(context, name, { guard, user, subject })]);
  }
  // Only `true` passes.
  if ((await verify()) === true) {
    for (const [name, attempt] of attempts) await throttle.giveBack(context, name, { attempt });
    return true;
  }
  announce(context, "auth.failed", guard, { user, identifier: null, by: factor?.by ?? step });
  return false;
}
