import type { Guard } from "../../auth/index.ts";
import type { HttpContext, Middleware, Next } from "../../http/index.ts";
import type { Container } from "../../kernel/index.ts";
import { AshlarError } from "../../support/index.ts";
import { joined } from "../abilities.ts";
import { type Drivers, driversOf } from "../drivers/drivers.ts";
import { JwtGuard } from "./jwt-guard.ts";
import "../errors.ts";

/** Only lets a request through if its token, or login, has the abilities that the route requires. */
abstract class RequiringAbilities implements Middleware {
  readonly #drivers: Drivers;

  constructor(container: Container) {
    this.#drivers = driversOf(container);
  }

  protected abstract suffices(context: HttpContext, abilities: readonly string[]): boolean;

  /**
   * @throws `E_INSUFFICIENT_SCOPE` if the token lacks an ability; `E_UNAUTHENTICATED`, `E_INVALID_TOKEN` if the request
   * has no token, or a refused one, and no user
   */
  async handle(context: HttpContext, next: Next, ...abilities: string[]): Promise<unknown> {
    const { auth } = context;
    const guard: Guard = auth.guard(auth.guardName);
    if (!(await isProved(guard))) {
      if (guard instanceof JwtGuard) throw guard.token.refusal();
      return auth.refuseGuest();
    }
    if (!this.suffices(context, abilities)) throw insufficientScope(abilities);
    return next();
  }

  /** @throws `E_INVALID_CONFIGURATION` without an ability, or with one that `ABILITIES` does not list */
  checkArguments(...abilities: string[]): void {
    if (abilities.length === 0) {
      const problem = "This middleware takes the abilities that a token needs, as in ability:orders.write.";
      throw new AshlarError("E_INVALID_CONFIGURATION", problem);
    }
    this.#drivers.abilities.require(abilities, "the middleware");
  }

  /** If the guard needs the body to find its user, it waits for the body. */
  beforeBody(): boolean {
    return true;
  }
}

/** `ability:orders.read,orders.write`: only lets a request through if its token has all of these abilities. */
export class AbilityMiddleware extends RequiringAbilities {
  protected override suffices({ auth }: HttpContext, abilities: readonly string[]): boolean {
    return abilities.every((ability) => auth.tokenCan(ability));
  }
}

/**
 * `any-ability:orders.read,orders.write`: only lets a request through if its token has at least one of these abilities.
 */
export class AnyAbilityMiddleware extends RequiringAbilities {
  protected override suffices({ auth }: HttpContext, abilities: readonly string[]): boolean {
    return abilities.some((ability) => auth.tokenCan(ability));
  }
}

/** Reports whether a request has either a valid token, even without a user, or a user. */
async function isProved(guard: Guard): Promise<boolean> {
  if (!(guard instanceof JwtGuard) || guard.knownUser !== null) return (await guard.user()) !== null;
  const { token } = guard;
  await token.ready();
  if (token.verified === null || !token.authenticates) return token.verified !== null;
  return guard.check();
}

/** The response to a token that lacks abilities; it names the required ones (RFC 6750 §3.1). */
function insufficientScope(needed: readonly string[]): AshlarError {
  const challenge = `Bearer error="insufficient_scope", scope="${joined(needed)}"`;
  return new AshlarError("E_INSUFFICIENT_SCOPE", undefined, { headers: { "WWW-Authenticate": challenge } });
}
