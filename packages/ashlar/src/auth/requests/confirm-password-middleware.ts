import { type HttpContext, isSpeculative, type Middleware, type Next } from "../../http/index.ts";
import type { Container } from "../../kernel/index.ts";
import { ConfigurationError, now } from "../../support/index.ts";
import { requireGuards } from "../guards/require-guards.ts";
import { confirmationRequired } from "../proofs/confirmation.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import { keepRefusedForm, refuseGuest } from "./refuse-guest.ts";

const DEFAULT_MINUTES = "180";
const MS_PER_MINUTE = 60_000;

/**
 * `password.confirm`, `password.confirm:<minutes>`: only lets users through who have proved who they are within that
 * number of minutes, at login or later, with the password or another proof; default: 180. A login without a proof, such
 * as with `loginAs`, doesn't count.
 *
 * A visitor of a page is sent to the active guard's page `confirm_password`, or if they have no password, to the page
 * of another proof, and then to the page they wanted. A caller that accepts JSON gets a 403 that names the proofs in
 * `methods`, and so does a browser that preloads the page. Guests are treated as by `auth`.
 */
export class ConfirmPasswordMiddleware implements Middleware {
  constructor(container: Container) {
    requireGuards(container);
  }

  /**
   * @throws `E_UNAUTHENTICATED`, `E_PASSWORD_NOT_CONFIRMED` if the caller accepts JSON; `E_UNSUPPORTED_GUARD_OPERATION`
   * if the active guard's driver is not `web`
   */
  async handle(context: HttpContext, next: Next, minutes: string = DEFAULT_MINUTES): Promise<unknown> {
    const guard = context.auth.guard(context.auth.guardName);
    if (!(await guard.check())) return refuseGuest(context, guard);
    const confirmedAt = await context.auth.webGuard.confirmedAt();
    if (confirmedAt !== null && now() - confirmedAt.getTime() < Number(minutes) * MS_PER_MINUTE) return next();
    const { request } = context;
    const user = guard.knownUser as unknown as Authenticatable;
    const required = await confirmationRequired(context, user);
    if (request.wantsJson() || isSpeculative(request.raw)) throw required;
    await keepRefusedForm(context);
    return context.auth.redirectToRoute(required.page);
  }

  /** @throws `E_INVALID_CONFIGURATION` unless there is no argument, or one that is a whole number of minutes above 0 */
  checkArguments(...args: string[]): void {
    const [minutes, ...rest] = args;
    if (rest.length === 0 && (minutes === undefined || /^[1-9]\d{0,8}$/.test(minutes))) return;
    const problem = "it takes a whole number of minutes above 0.";
    throw new ConfigurationError("password.confirm", problem, "Write password.confirm:30.");
  }

  /** If the guard finds its user by the body, it waits for the body. */
  beforeBody(): boolean {
    return true;
  }
}
