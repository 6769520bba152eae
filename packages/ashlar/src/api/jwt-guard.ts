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
 * Knows a request's user by its API token.
 *
 * A login by this guard is for the request alone: the caller gets hold of it by the token that `generateJwt()` of the
 * user makes. A logout revokes the request's token.
 *
 * Security: with `authenticates` off no request looks into the database, so a voided token is accepted until it expires.
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
