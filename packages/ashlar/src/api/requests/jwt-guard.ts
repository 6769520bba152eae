import { type Authenticatable, type LoginFlow, LoginGuard, type LoginResult } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { AshlarError, RegisteredUser } from "../../support/index.ts";
import type { Driver } from "../drivers/drivers.ts";
import type { Issuer } from "../drivers/issuer.ts";
import type { VerifiedJwt } from "../verifier.ts";
import type { PresentedToken } from "./presented-token.ts";

declare module "../../auth/web/guards-by-name.ts" {
  interface FrameworkGuards {
    jwt: JwtGuard;
  }
}

/**
 * Identifies a request's user by the API token.
 *
 * A login with this guard applies to this request only. To stay logged in, the client keeps the token that the user's
 * `generateJwt()` returns. A logout revokes the request's token.
 *
 * Security: with `authenticates` off, requests don't query the database, so a revoked token is accepted until it
 * expires.
 */
export class JwtGuard extends LoginGuard {
  readonly #driver: Driver;

  /** @internal Creates the guards of a driver. */
  static by(driver: Driver): (settings: { readonly name: string }) => (context: HttpContext) => JwtGuard {
    return ({ name }) =>
      (context) =>
        new JwtGuard(name, context, driver);
  }

  constructor(name: string, context: HttpContext, driver: Driver) {
    super(name, context, driver.settings.model);
    this.#driver = driver;
  }

  /** @internal Issues the tokens of the guard's driver; `null` if they come from another issuer. */
  get issuer(): Issuer | null {
    return this.#driver.issuer;
  }

  /** The request's API token, as verified by the guard's driver. */
  get token(): PresentedToken {
    return this.context.apiTokens.of(this.#driver);
  }

  override get challenge(): string {
    return this.token.challenge;
  }

  get refusal(): AshlarError | null {
    return this.token.value === null ? null : this.token.refusal();
  }

  /** The token endpoint, if the application has one. */
  get flows(): readonly LoginFlow[] {
    const { issuer } = this;
    const url = issuer === null ? null : this.context.apiTokens.drivers.loginUrl(issuer);
    return url === null ? [] : [{ id: "login", url }];
  }

  get claims(): Readonly<Record<string, unknown>> | null {
    return this.token.claims;
  }

  /** @internal Runs the login steps to decide whether a user's token may be renewed. */
  admitRenewal(user: Authenticatable): Promise<LoginResult> {
    return this.admit(user as object as RegisteredUser, { purpose: "renewal" });
  }

  protected override retrieve(): Promise<Authenticatable | null> {
    return this.token.user();
  }

  protected override persist(): void {}

  protected override async forget(user: Authenticatable | null): Promise<void> {
    const { personal, issuer } = this.#driver;
    const { value, verified } = this.token;
    if (value !== null && personal?.recognizes(value)) {
      const found = await personal.findIssued(value);
      await found?.revoke(this.context.request.clientAddress);
    } else {
      await issuer?.store.forget(user, value, verified as VerifiedJwt | null);
    }
  }

  /**
   * Whether the request's token has an ability. Without a token, such as after a login in this request, the user has
   * all abilities. With `authenticates`, a token has no abilities until `auth.user()`, or the token middleware, has
   * looked up its user.
   */
  override tokenCan(ability: string): boolean {
    const { value, verified, authenticates } = this.token;
    // Only after looking up the user do we know which abilities the token has lost.
    if (this.knownUser === null && (value === null || authenticates)) return false;
    if (value === null) return true;
    return verified !== null && (verified.abilities === null || verified.abilities.has(ability));
  }
}
