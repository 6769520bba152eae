import type { Guard } from "../../auth/index.ts";
import type { HttpContext, Middleware, Next } from "../../http/index.ts";
import type { Container } from "../../kernel/index.ts";
import { AshlarError, isThenable } from "../../support/index.ts";
import { type Driver, type Drivers, driversOf } from "../drivers/drivers.ts";
import type { PresentedToken } from "./presented-token.ts";
import "../../auth/index.ts";

/**
 * Only lets requests with a valid API token through, and makes the driver's guard active. The driver is the first of
 * `DRIVERS`, or the driver named by the argument: `jwt:admin`.
 *
 * Without `authenticates`, it makes no database call and creates no promise; with it, there is one call, and the guard
 * keeps the user.
 */
export class JWTAuthenticationMiddleware implements Middleware {
  readonly #drivers: Drivers;
  readonly #first: Driver;

  constructor(container: Container) {
    this.#drivers = driversOf(container);
    this.#first = this.#drivers.all[0]!;
  }

  /** @throws `E_UNAUTHENTICATED` without a token, `E_INVALID_TOKEN` with one that is refused, `E_CONFLICTING_TOKENS` */
  handle(context: HttpContext, next: Next, name?: string): unknown {
    const driver = name === undefined ? this.#first : this.#drivers.of(name);
    const token = context.apiTokens.use(driver);
    const waiting = token.ready();
    if (isThenable(waiting)) return waiting.then(() => admit(context, driver.name, token, next));
    return admit(context, driver.name, token, next);
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

  /** Waits for the body only if the token can't be anywhere else. */
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
