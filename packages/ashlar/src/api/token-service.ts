import { type Authenticatable, type CompleteLogin, isUserClassOf, type UserId } from "../auth/index.ts";
import type { HttpContext } from "../http/index.ts";
import { randomToken } from "../security/index.ts";
import { type JwtClaims, type JwtVerifyOptions, signJwt, tryVerifyJwt } from "../security/jwt/index.ts";
import { AshlarError, type MaybePromise, nowInSeconds } from "../support/index.ts";
import { abilitiesOf, GrantedAbilities } from "./abilities.ts";
import type { PresentedToken } from "./presented-token.ts";
import type { CompleteJwtSettings } from "./settings.ts";
import { SingleTokens } from "./single-tokens.ts";
import { authenticationOf } from "./token-authentication.ts";
import type { TokenEvents } from "./token-events.ts";
import type { AdmitRenewal, IssuedToken, TokenRequest, TokenStrategy } from "./token-strategy.ts";
import {
  isRefused,
  type RefusedToken,
  type TokenClaims,
  type TokenVerification,
  type TokenVerifier,
  type VerifiedJwt,
} from "./token-verifier.ts";

const TOKEN_ID_BYTES = 16;

/** Issues, verifies and renews the API tokens of one driver. That of the first is bound to the container as `api`. */
export class TokenService implements TokenVerifier {
  readonly settings: CompleteJwtSettings;
  readonly #rules: JwtVerifyOptions;
  readonly #events: TokenEvents;
  readonly #strategy: TokenStrategy;

  /** @param makeStrategy what keeps the tokens; default: one token per user */
  constructor(
    settings: CompleteJwtSettings,
    events: TokenEvents,
    makeStrategy: (jwts: TokenService) => TokenStrategy = (jwts) => new SingleTokens(jwts, new GrantedAbilities()),
  ) {
    const { issuer, audience, clockSkewSeconds } = settings;
    this.settings = settings;
    this.#events = events;
    this.#rules = Object.freeze({
      requireSubject: true,
      // All of the framework's own tokens have the one header that signJwt writes.
      exactTyp: true,
      clockSkewSeconds,
      // The version is checked before the expiry, so that an outdated token is never reported as merely expired.
      ignoreExpiry: true,
      ...(issuer === null ? {} : { issuer }),
      ...(audience === null ? {} : { audience }),
    });
    this.#strategy = makeStrategy(this);
  }

  /** The name of the driver, and of its guard. */
  get name(): string {
    return this.settings.name;
  }

  get authenticates(): boolean {
    return this.settings.authenticates;
  }

  recognizes(): boolean {
    return true;
  }

  /**
   * Signs a token for a user without storing anything; the user's `generateJwt()` does both.
   *
   * @param extra further claims, such as `scope`
   * @param iat when it is issued, in seconds
   */
  issue(id: UserId, extra: JwtClaims = {}, iat: number = nowInSeconds()): string {
    const { expiresInMinutes, version, issuer, audience, signingKey } = this.settings;
    const claims: JwtClaims = {
      sub: String(id),
      iat,
      ...(expiresInMinutes === null ? {} : { exp: iat + expiresInMinutes * 60 }),
      jti: extra.jti ?? randomToken(TOKEN_ID_BYTES),
      ...(version === null ? {} : { ver: version }),
      ...(issuer === null ? {} : { iss: issuer }),
      ...(audience === null ? {} : { aud: audience }),
      ...extra,
    };
    return signJwt(claims, signingKey);
  }

  /**
   * Makes sure that a class's users are those whose keys the tokens hold.
   *
   * @throws `E_INVALID_MODEL` for any class but the driver's `model`, and classes that extend it and keep its table
   */
  requireUserClass(userClass: object): void {
    const { model } = this.settings;
    if (isUserClassOf(userClass, model)) return;
    const { name } = userClass as { readonly name: string };
    const problem = `API tokens are for users of the class ${model.name}, not ${name}.`;
    const remedy = `The model is DRIVERS.${this.settings.name}.model in config/api.ts.`;
    throw new AshlarError("E_INVALID_MODEL", `${problem} ${remedy}`);
  }

  /**
   * Issues a logged-in user's new token. It replaces the previous one unless the driver's users have several.
   *
   * @param login a complete one, with the guard of the driver: no token is issued while one of its steps is pending
   * @param request who asks for it, and for what
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` for a login with another guard; as {@link issueUnasked}; `E_INVALID_INPUT` if the user may not give one of the abilities
   */
  async grant(login: CompleteLogin, request: TokenRequest): Promise<IssuedToken> {
    if (login.guard !== this.name) throw otherGuard(login.guard, this.name);
    const authentication = this.settings.authenticationClaims ? authenticationOf(login.methods) : null;
    return this.#issueTo(login.user as object as Authenticatable, { ...request, authentication });
  }

  /**
   * Issues a logged-in user's new active token, replacing the previous one; see {@link grant}.
   *
   * @param login a complete one: no token is issued while a step is pending
   * @param address the client's address for the audit trail; `null` outside of a request
   * @throws as {@link issueUnasked}
   */
  async issueTo(login: CompleteLogin, address: string | null): Promise<string> {
    return (await this.grant(login, { address, userAgent: null })).token;
  }

  /**
   * Issues a user's new active token regardless of login steps, because the application itself asks for it:
   * `generateJwt()`.
   *
   * @param address the client's address for the audit trail; `null` outside of a request
   * @throws `E_STALE_PROOF` if access to the account has ended since the user was read; `E_ROW_NOT_FOUND` if the user
   * is gone; `E_INVALID_MODEL` for a user of a class other than the driver's `model`
   */
  async issueUnasked(user: Authenticatable, address: string | null): Promise<string> {
    return (await this.#issueTo(user, { address, userAgent: null })).token;
  }

  /** @internal Issues a token as {@link issueUnasked}, but emits no event. For tests. */
  async issueSilently(user: Authenticatable): Promise<string> {
    this.requireUserClass(user.constructor);
    return (await this.#strategy.issue(user, { address: null, userAgent: null })).token;
  }

  /**
   * Verifies a token without querying the database, in this order: size and shape, algorithm, signature, the claims'
   * types, version, expiry.
   */
  verify(token: string): TokenVerification {
    return this.verifyWithin(token, 0);
  }

  /**
   * Verifies a token as {@link verify}, also if it has expired.
   *
   * @param graceInSeconds how long ago
   */
  verifyWithin(token: string, graceInSeconds: number): TokenVerification {
    const outcome = tryVerifyJwt(token, this.settings.verificationKeys, this.#rules);
    if ("failure" in outcome) return { failure: outcome.failure, userId: null };
    const claims = outcome.claims as TokenClaims;
    const { sub: userId, scope, sid } = claims;
    if ((claims.ver ?? null) !== this.settings.version) return { failure: "version", userId };
    if (nowInSeconds() >= this.#expiry(claims) + graceInSeconds) return { failure: "expired", userId };
    return { userId, claims, abilities: abilitiesOf(scope), id: typeof sid === "string" ? sid : null };
  }

  /**
   * The primary key of the user whose token this is, an access token or a refresh token, no matter how long ago it was
   * issued; `null` if it was not issued here.
   */
  subjectOf(presented: string): string | null {
    return this.#strategy.subjectOf(presented);
  }

  /**
   * Renews a token: with one token per user, with the token itself, which may have expired; with several, with its
   * refresh token. For about a minute, the same token is answered with the same successor: its answer may have been lost.
   *
   * @param admit asks the steps of a login, and throws what refuses the user; only called if the token can be renewed
   * @returns the new token, or `null` if the old one is refused
   */
  async exchange(presented: string, request: TokenRequest, admit: AdmitRenewal): Promise<IssuedToken | null> {
    const renewed = await this.#strategy.renew(presented, request, admit);
    if (isRefused(renewed)) {
      this.#events.refused(renewed, request.address);
      return null;
    }
    if (!renewed.isRepeated) this.#events.renewed(renewed.userId, request.address);
    return renewed;
  }

  /**
   * Renews a token; see {@link exchange}.
   *
   * @returns the new token, or `null` if the old one is refused
   */
  async renew(presented: string, address: string | null, admit: AdmitRenewal): Promise<string | null> {
    return (await this.exchange(presented, { address, userAgent: null }, admit))?.token ?? null;
  }

  /**
   * Revokes a token: an access token, even if it has expired, or a refresh token, which ends both.
   *
   * @param address the client's address for the audit trail; `null` outside of a request
   * @returns whether it was active
   */
  async revoke(presented: string, address: string | null): Promise<boolean> {
    const userId = await this.#strategy.revoke(presented);
    if (userId !== null) this.#events.revoked(userId, address);
    return userId !== null;
  }

  /** @internal Revokes the token of a request, for a logout; without one, what the user holds. */
  forget(user: Authenticatable | null, { value, verified }: PresentedToken): Promise<void> {
    return this.#strategy.forget(user, value, verified as VerifiedJwt | null);
  }

  findUser(
    token: string,
    verified: VerifiedJwt,
    context: HttpContext,
  ): MaybePromise<Authenticatable | RefusedToken | null> {
    return this.#strategy.findUser(token, verified, context);
  }

  /** With `authenticates`, a token loses at once what its user may no longer let a token do. */
  abilitiesNow(user: Authenticatable, { abilities }: VerifiedJwt): MaybePromise<ReadonlySet<string> | null> {
    return this.authenticates ? this.#strategy.abilities.limitPresented(user, abilities) : abilities;
  }

  /** The user whose active token this is, by its verified claims; `null` if there is none. */
  async findActiveUser(token: string, claims: TokenClaims): Promise<Authenticatable | null> {
    const verification = this.verifyWithin(token, Number.POSITIVE_INFINITY);
    if (isRefused(verification) || verification.userId !== claims.sub) return null;
    return this.#strategy.findActiveUser(token, verification);
  }

  async #issueTo(user: Authenticatable, request: TokenRequest): Promise<IssuedToken> {
    this.requireUserClass(user.constructor);
    const issued = await this.#strategy.issue(user, request);
    this.#events.issued(String(user.authId()), request.address);
    return issued;
  }

  /** A token from a time when tokens did not expire gets today's lifetime, counted from when it was issued. */
  #expiry({ exp, iat }: TokenClaims): number {
    if (exp !== undefined) return exp;
    const { expiresInMinutes } = this.settings;
    if (expiresInMinutes === null) return Number.POSITIVE_INFINITY;
    return iat === undefined ? 0 : iat + expiresInMinutes * 60;
  }
}

/** Security: another guard may ask fewer steps. */
function otherGuard(guard: string, driver: string): AshlarError {
  const problem = `The login was with the guard "${guard}", whose steps may be others than those of "${driver}".`;
  return new AshlarError("E_UNSUPPORTED_GUARD_OPERATION", `${problem} Log in with auth.guard("${driver}").`);
}
