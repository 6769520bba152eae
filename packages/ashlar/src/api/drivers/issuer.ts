import { type Authenticatable, amrOf, type CompleteLogin, type LoginMethod, type UserId } from "../../auth/index.ts";
import type { JwtClaims } from "../../security/jwt/index.ts";
import { AshlarError } from "../../support/index.ts";
import type { TokenEvents } from "../events.ts";
import { type CompleteJwtSettings, requireUsersOf } from "../settings/driver-settings.ts";
import type { AdmitRenewal, IssuedToken, Store, TokenRequest } from "../stores/store.ts";
import type { RefusedToken, TokenAuthentication, TokenClaims, VerifiedJwt } from "../verifier.ts";

/**
 * Issues, verifies, renews and revokes the API tokens of one driver. The first driver's issuer is bound to the
 * container as `api`.
 */
export class Issuer {
  readonly settings: CompleteJwtSettings;
  /** @internal The store of the tokens. */
  readonly store: Store;
  readonly #events: TokenEvents;

  constructor(store: Store, events: TokenEvents) {
    this.settings = store.settings;
    this.store = store;
    this.#events = events;
  }

  /** The name of both the driver and its guard. */
  get name(): string {
    return this.settings.name;
  }

  /**
   * Signs a token for a user without storing anything; the user's `generateJwt()` also stores it.
   *
   * @param extra further claims, such as `scope`
   * @param iat when the token is issued, in seconds
   */
  issue(id: UserId, extra?: JwtClaims, iat?: number): string {
    return this.store.sign(id, extra, iat);
  }

  /**
   * Issues a logged-in user's new token. It replaces the previous one unless the driver's users have several.
   *
   * @param login a complete login with the driver's guard: no token is issued while a step is pending
   * @param request the client, and the properties of the token
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` for a login with another guard; the errors of {@link issueUnasked};
   * `E_INVALID_INPUT` if the user may not give one of the abilities
   */
  async issueTo(login: CompleteLogin, request: TokenRequest): Promise<IssuedToken> {
    if (login.guard !== this.name) throw otherGuard(login.guard, this.name);
    const authentication = this.settings.authenticationClaims ? authenticationOf(login.methods) : null;
    return this.#issueTo(login.user as object as Authenticatable, { ...request, authentication });
  }

  /**
   * Issues a user's new active token regardless of login steps, because the application itself requests it with
   * `generateJwt()`.
   *
   * @param address the client's address for the audit trail; `null` outside of a request
   * @throws `E_STALE_PROOF` if access to the account has ended since the user was read; `E_ROW_NOT_FOUND` if the user
   * is gone; `E_INVALID_MODEL` for a user of a class other than the driver's `model`
   */
  async issueUnasked(user: Authenticatable, address: string | null): Promise<string> {
    return (await this.#issueTo(user, { address, userAgent: null })).token;
  }

  /** @internal Issues a token like {@link issueUnasked}, but without emitting an event. For tests. */
  async issueSilently(user: Authenticatable): Promise<string> {
    requireUsersOf(this.settings, user.constructor);
    return (await this.store.issue(user, { address: null, userAgent: null })).token;
  }

  /**
   * Verifies a token without querying the database, in this order: size and shape, algorithm, signature, the claims'
   * types, version, expiry.
   */
  verify(token: string): VerifiedJwt | RefusedToken {
    return this.store.verify(token);
  }

  /**
   * Renews a token. With one token per user, the token itself renews it, even if it has expired; with several, its
   * refresh token does. For about a minute, the same token gets the same successor, because the response may have been
   * lost.
   *
   * @param admit runs the login steps, and throws an error if one refuses the user; only called if the token can be
   * renewed
   * @returns the new token; `null` if the old one is refused
   */
  async renew(token: string, request: TokenRequest, admit: AdmitRenewal): Promise<IssuedToken | null> {
    const renewed = await this.store.renew(token, request, admit);
    if ("failure" in renewed) {
      this.#events.refused(renewed, request.address);
      return null;
    }
    const { userId, isRepeated } = renewed;
    if (!isRepeated) this.#events.emit("api.token_renewed", request.address, { userId });
    return renewed;
  }

  /**
   * Revokes a token. It may be an access token, even if it has expired, or a refresh token. Both then become invalid.
   *
   * @param address the client's address for the audit trail; `null` outside of a request
   * @returns whether it was active
   */
  async revoke(token: string, address: string | null): Promise<boolean> {
    const userId = await this.store.revoke(token);
    if (userId !== null) this.#events.emit("api.token_revoked", address, { userId });
    return userId !== null;
  }

  /** The user with this active token, by its verified claims; `null` if there isn't one. */
  async findActiveUser(token: string, claims: TokenClaims): Promise<Authenticatable | null> {
    const verified = this.store.verifyExpired(token);
    if ("failure" in verified || verified.userId !== claims.sub) return null;
    return this.store.findActiveUser(token, verified);
  }

  async #issueTo(user: Authenticatable, request: TokenRequest): Promise<IssuedToken> {
    requireUsersOf(this.settings, user.constructor);
    const issued = await this.store.issue(user, request);
    this.#events.emit("api.token_issued", request.address, { userId: String(user.authId()) });
    return issued;
  }
}

/** The information about a login in a token; `null` if there was no proof, as with `loginAs`. */
function authenticationOf(methods: readonly LoginMethod[]): TokenAuthentication | null {
  const [first] = methods;
  return first === undefined ? null : { auth_time: Math.floor(first.at.getTime() / 1000), amr: amrOf(methods) };
}

/** Security: another guard may require fewer steps. */
function otherGuard(guard: string, driver: string): AshlarError {
  const problem = `The login was with the guard "${guard}", whose steps may be others than those of "${driver}".`;
  return new AshlarError("E_UNSUPPORTED_GUARD_OPERATION", `${problem} Log in with auth.guard("${driver}").`);
}
