import type { HttpContext } from "../../http/index.ts";
import { announce } from "../events.ts";
import { PASSWORD_LIMIT } from "../limits.ts";
import { hasPassword, isPasswordGiven, isPasswordOf } from "../passwords/verify-credentials.ts";
import { NO_PASSWORD_YET } from "../pipeline/complete-login.ts";
import { PASSWORD } from "../proofs/proof.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import { clearGuesses, comparePassword } from "./guesses.ts";

/**
 * Reports whether a password belongs to the user who is logged in with a guard. A wrong one is announced and counted as
 * a failed login: under the same limit as the login page, for the user's own account, whether or not the route has a
 * limit. A user without a password has nothing to guess: `auth.refusal` then says how to set one.
 *
 * @throws `E_TOO_MANY_REQUESTS`; `E_OVERLOADED`
 */
export async function provesOwnPassword(
  context: HttpContext,
  guard: string,
  user: Authenticatable | null,
  password: unknown,
): Promise<boolean> {
  const { registry, throttle } = context.auth;
  const counted = { guard, user };
  await throttle?.aim(context, PASSWORD_LIMIT, counted, true);
  if (user !== null && !hasPassword(user)) {
    await throttle?.giveBack(context, PASSWORD_LIMIT);
    context.auth.concluded(guard, NO_PASSWORD_YET);
    return false;
  }
  const guess = { guard, user, identifier: null };
  const compare = () => isPasswordOf(registry.hasher, user, password);
  if (isPasswordGiven(password) && (await comparePassword(context, guess, compare))) {
    if (user !== null) await clearGuesses(context, guard, user);
    return true;
  }
  // Submitting a form without a password is a mistake, not a guess.
  if (!isPasswordGiven(password)) await throttle?.giveBack(context, PASSWORD_LIMIT);
  announce(context, "auth.failed", guard, { user: user as object | null, identifier: null, by: PASSWORD });
  return false;
}
