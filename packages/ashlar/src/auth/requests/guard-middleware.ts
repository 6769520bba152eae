import type { HttpContext, Middleware, Next } from "../../http/index.ts";
import type { Container } from "../../kernel/index.ts";
import { AshlarError, isThenable } from "../../support/index.ts";
import type { GuardRegistry } from "../guards/guard-registry.ts";
import { requireGuards } from "../guards/require-guards.ts";
import "../errors.ts";

/**
 * `guard:<name>`: makes a guard the active one for the request, and loads its user. It never refuses a
 * request: that is what `auth` is for.
 *
 * The boot fails if no guard has this name.
 */
export class GuardMiddleware implements Middleware {
  readonly #guards: GuardRegistry;

  constructor(container: Container) {
    this.#guards = requireGuards(container);
  }

  handle(context: HttpContext, next: Next, name: string): unknown {
    const user = context.auth.guard(name).user();
    return isThenable(user) ? user.then(() => next()) : next();
  }

  /** @throws `E_UNKNOWN_GUARD` unless there is one argument, the name of a guard */
  checkArguments(...names: string[]): void {
    const [name, ...rest] = names;
    if (name === undefined || rest.length > 0) {
      throw new AshlarError("E_UNKNOWN_GUARD", "This middleware takes the name of one guard, as in guard:jwt.");
    }
    this.#guards.checkName(name);
  }

  /** A guard that finds its user by the body waits for it. */
  beforeBody(): boolean {
    return true;
  }
}
