import { type Authenticatable, LoginGuard, type LoginResult } from "../auth/index.ts";
import { digest } from "../security/index.ts";
import type { MaybePromise, RegisteredUser } from "../support/index.ts";
import type { TokenBearer } from "./token-model.ts";

declare module "../auth/guard.ts" {
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
  override get challenge(): string {
    return this.context.apiToken.challenge;
  }

  /** @internal Asks the steps of a login whether a user's token may be renewed. */
  admitRenewal(user: TokenBearer): Promise<LoginResult> {
    return this.admit(user as RegisteredUser, { purpose: "renewal" });
  }

  protected override retrieve(): Promise<TokenBearer | null> {
    return this.context.apiToken.user();
  }

  protected override persist(): void {}

  protected override forget(user: Authenticatable | null): MaybePromise<void> {
    const { value } = this.context.apiToken;
    return (user as TokenBearer | null)?.revokeToken(value === null ? undefined : digest(value));
  }
}
