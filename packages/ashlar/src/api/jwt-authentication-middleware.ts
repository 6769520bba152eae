import type { Guard } from "../auth/index.ts";
import type { HttpContext, Middleware, Next } from "../http/index.ts";
import type { Container } from "../kernel/index.ts";
import type { PresentedToken } from "./presented-token.ts";
import { requireTokenService } from "./require-token-service.ts";
import { JWT_GUARD } from "./token-service.ts";

/**
 * Lets only requests with a valid API token through, and makes `jwt` the active guard.
 *
 * Without `authenticates`, it makes no database call and creates no promise; with it, there is one call, and the guard
 * keeps the user.
 */
export class JWTAuthenticationMiddleware implements Middleware {
  readonly #authenticates: boolean;

  constructor(container: Container) {
    this.#authenticates = requireTokenService(container).settings.authenticates;
  }

  /** @throws `E_UNAUTHENTICATED` without a token, `E_INVALID_TOKEN` with one that is refused, `E_CONFLICTING_TOKENS` */
  handle(context: HttpContext, next: Next): unknown {
    const waiting = context.apiToken.ready();
    return waiting instanceof Promise ? waiting.then(() => this.#check(context, next)) : this.#check(context, next);
  }

  /** It waits for the body only if the token can be nowhere else. */
  beforeBody(): boolean {
    return true;
  }

  #check(context: HttpContext, next: Next): unknown {
    const { apiToken } = context;
    if (apiToken.claims === null) throw apiToken.refusal();
    const guard = context.auth.guard(JWT_GUARD);
    return this.#authenticates ? confirm(apiToken, guard, next) : next();
  }
}

async function confirm(apiToken: PresentedToken, guard: Guard, next: Next): Promise<unknown> {
  if (!(await guard.check())) throw apiToken.refusal();
  return next();
}
