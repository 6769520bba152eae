import type { Guard } from "../auth/index.ts";
import type { HttpContext, Middleware, Next } from "../http/index.ts";
import type { Container } from "../kernel/index.ts";
import { AshlarError, isThenable } from "../support/index.ts";
import type { PresentedToken } from "./presented-token.ts";
import { requireTokenDrivers } from "./require-token-service.ts";
import type { TokenDrivers } from "./token-drivers.ts";
import "../auth/index.ts";

/**
 * Lets only requests with a valid API token through, and makes the driver's guard the active one. The driver is the
 * first one of `DRIVERS`, or the argument: `jwt:admin`.
 *
 * Without `authenticates`, it makes no database call and creates no promise; with it, there is one call, and the guard
 * keeps the user.
 */
export class JWTAuthenticationMiddleware implements Middleware {
  readonly #drivers: TokenDrivers;
  readonly #first: string;

  constructor(container: Container) {
    this.#drivers = requireTokenDrivers(container);
    this.#first = this.#drivers.first.name;
  }

  /** @throws `E_UNAUTHENTICATED` without a token, `E_INVALID_TOKEN` with one that is refused, `E_CONFLICTING_TOKENS` */
  handle(context: HttpContext, next: Next, driver: string = this.#first): unknown {
    const token = context.apiTokens.use(driver);
    const waiting = token.ready();
    if (isThenable(waiting)) return waiting.then(() => admit(context, driver, token, next));
    return admit(context, driver, token, next);
  }

  /** @throws `E_UNKNOWN_GUARD` unless there is no argument, or one that is the name of a driver */
  checkArguments(...names: string[]): void {
    const [name, ...rest] = names;
    if (rest.length > 0) {
      throw new AshlarError(
        "E_UNKNOWN_GUARD",
        "This middleware takes the name of at most one driver, as in jwt:admin.",
      );
    }
    if (name !== undefined) this.#drivers.of(name);
  }

  /** It waits for the body only if the token can be nowhere else. */
  beforeBody(): boolean {
    return true;
  }
}

function admit(context: HttpContext, driver: string, token: PresentedToken, next: Next): unknown {
  const { verified } = token;
  if (verified === null) throw token.refusal();
  if (verified.userId !== null) context.provenUserId = verified.userId;
  const guard: Guard = context.auth.guard(driver);
  return token.authenticates ? confirm(token, guard, next) : next();
}

async function confirm(token: PresentedToken, guard: Guard, next: Next): Promise<unknown> {
  if (!(await guard.check())) throw token.refusal();
  return next();
}
