import { type Authenticatable, LoginGuard, type LoginResult } from "../auth/index.ts";
import type { HttpContext } from "../http/index.ts";
import type { AshlarError, MaybePromise, RegisteredUser } from "../support/index.ts";
import type { PresentedToken } from "./presented-token.ts";
import type { TokenDriver } from "./token-drivers.ts";
import type { TokenService } from "./token-service.ts";

declare module "../auth/web/guards-by-name.ts" {
  interface FrameworkGuards {
    jwt: JwtGuard;
  }
}

/**
 * Identifies a request's user by the API token.
 *
 * A login with this guard applies to the request only: callers keep it by means of the token that the user's
 * `generateJwt()` returns. A logout revokes the request's token.
 *
 * Security: with `authenticates` off, requests don't query the database, so a revoked token is accepted until it
 * expires.
 */
export class JwtGuard extends LoginGuard {
  readonly #driver: TokenDriver;

  constructor(name: string, context: HttpContext, driver: TokenDriver) {
    super(name, context, driver.settings.model);
    this.#driver = driver;
  }

  /** @internal The service that issues the tokens of the guard's driver; `null` if another issuer does. */
  get service(): TokenService | null {
    return this.#driver.service;
  }

  /** The request's API token, as the guard's driver verifies it. */
  get token(): PresentedToken {
    return this.context.apiTokens.of(this.#driver.name);
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

  /** @internal Asks the steps of a login whether a user's token may be renewed. */
  admitRenewal(user: Authenticatable): Promise<LoginResult> {
    return this.admit(user as object as RegisteredUser, { purpose: "renewal" });
  }

  protected override retrieve(): Promise<Authenticatable | null> {
    return this.token.user();
  }

  protected override persist(): void {}

  protected override forget(user: Authenticatable | null): MaybePromise<void> {
    const { personal, service } = this.#driver;
    const { value } = this.token;
    if (value === null || !personal?.recognizes(value)) return service?.forget(user, this.token);
    return personal.revokePresented(value, this.context.request.clientAddress);
  }

  /**
   * Whether the request's token may be used for something; without a token, such as after a login in this request, its
   * user may do everything. With `authenticates`, a token may be used for nothing before its user has been looked up, as the
   * middleware of tokens and `auth.user()` do.
   */
  override tokenCan(ability: string): boolean {
    const { value, verified, authenticates } = this.token;
    // What its user may no longer let it do is known once the user is.
    if (this.knownUser === null && (value === null || authenticates)) return false;
    if (value === null) return true;
    return verified !== null && (verified.abilities === null || verified.abilities.has(ability));
  }
}
