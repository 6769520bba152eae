import { type Authenticatable, RequestGuard } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { AshlarError } from "../../support/index.ts";
import type { Driver } from "../drivers/drivers.ts";
import type { PresentedToken } from "./presented-token.ts";

/**
 * Identifies a request's user by the access token of another issuer. It can't log users in or out, because the issuer
 * does that. A token is valid until it expires.
 */
export class ForeignGuard extends RequestGuard {
  readonly #driver: Driver;

  /** @internal Creates the guards of a driver. */
  static by(driver: Driver): (settings: { readonly name: string }) => (context: HttpContext) => ForeignGuard {
    return ({ name }) =>
      (context) =>
        new ForeignGuard(name, context, driver);
  }

  constructor(name: string, context: HttpContext, driver: Driver) {
    super(name, context, driver.settings.model);
    this.#driver = driver;
  }

  /** The request's token, as verified by the guard's driver. */
  get token(): PresentedToken {
    return this.context.apiTokens.of(this.#driver);
  }

  override get challenge(): string {
    return this.token.challenge;
  }

  get refusal(): AshlarError | null {
    return this.token.value === null ? null : this.token.refusal();
  }

  get claims(): Readonly<Record<string, unknown>> | null {
    return this.token.claims;
  }

  /** Whether the request's token has an ability. Without a token, as in a test, the user has all abilities. */
  override tokenCan(ability: string): boolean {
    const { value, verified } = this.token;
    // A valid token has no abilities if its user is unknown to the application.
    if (this.knownUser === null) return false;
    return value === null || (verified?.abilities?.has(ability) ?? false);
  }

  protected override retrieve(): Promise<Authenticatable | null> {
    return this.token.user();
  }
}
