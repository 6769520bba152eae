import type { Authenticatable } from "../auth/index.ts";
import { digest } from "../security/index.ts";
import type { JwtAlgorithm } from "../security/jwt/index.ts";
import { nowInSeconds, REPEAT_PERIOD_SECONDS, REPEAT_SECONDS, repeatPeriodOf } from "../support/index.ts";
import { abilitiesOf, type GrantedAbilities, scopeOf } from "./abilities.ts";
import { authenticationIn, type TokenAuthentication } from "./token-authentication.ts";
import type { TokenBearer, TokenModel } from "./token-model.ts";
import type { TokenService } from "./token-service.ts";
import type { AdmitRenewal, IssuedToken, RenewedToken, TokenRequest, TokenStrategy } from "./token-strategy.ts";
import { isRefused, type RefusedToken, type TokenClaims, type VerifiedJwt } from "./token-verifier.ts";

const TOKEN_ID_LENGTH = 22;
/** Of a logout and renewals at once, a renewal may come first: the logout then ends its successor. */
const MAX_ROUNDS = 4;

/** Algorithms whose signatures differ each time. */
const RANDOMIZED: readonly JwtAlgorithm[] = ["ES256", "ES384", "ES512", "PS256", "PS384", "PS512"];

/**
 * One active token per user, or what a class of its own makes of `TokenBearer`.
 *
 * The successor of a token is derived from the token and the time of the renewal. So a request that comes second, or comes
 * again because the answer to the first was lost, finds it without anything else being stored.
 */
export class SingleTokens implements TokenStrategy {
  readonly abilities: GrantedAbilities;
  readonly #jwts: TokenService;
  readonly #model: TokenModel;

  constructor(jwts: TokenService, abilities: GrantedAbilities) {
    this.#jwts = jwts;
    this.#model = jwts.settings.model as TokenModel;
    this.abilities = abilities;
  }

  async issue(user: Authenticatable, request: TokenRequest): Promise<IssuedToken> {
    const chosen = await this.abilities.choose(user, request.abilities ?? null);
    const abilities = await this.abilities.limit(user, chosen);
    const scope = abilities === null ? {} : { scope: scopeOf(abilities) };
    const token = this.#jwts.issue(user.authId(), { ...scope, ...request.authentication });
    await (user as TokenBearer).activateToken(this.#digestsOf(token)[0]!);
    return this.#issued(token, abilities);
  }

  subjectOf(presented: string): string | null {
    return this.#jwts.verifyWithin(presented, Number.POSITIVE_INFINITY).userId;
  }

  async renew(presented: string, _request: TokenRequest, admit: AdmitRenewal): Promise<RenewedToken | RefusedToken> {
    const { reauthWithinMinutes } = this.#jwts.settings;
    const grace = reauthWithinMinutes === null ? Number.POSITIVE_INFINITY : reauthWithinMinutes * 60;
    const verification = this.#jwts.verifyWithin(presented, grace);
    if (isRefused(verification)) return verification;
    const { userId, claims } = verification;
    const user = await this.#userOf(claims);
    if (user === null) return { failure: "inactive", userId };
    const active = await this.#activeDigest(user, presented);
    if (active === null) return this.#repeat(user, presented, claims, admit);
    await admit(user);
    const abilities = await this.#abilitiesNow(user, claims);
    const token = this.#successor(presented, claims, abilities, repeatPeriodOf(nowInSeconds()));
    // One conditional UPDATE decides between concurrent renewals: a read followed by a write would let both win.
    if (await this.#model.replaceToken(userId, active, this.#digestsOf(token)[0]!)) {
      return { ...this.#issued(token, abilities), userId, isRepeated: false };
    }
    const fresh = await this.#userOf(claims);
    return fresh === null ? { failure: "inactive", userId } : this.#repeat(fresh, presented, claims, admit);
  }

  async findUser(token: string, verified: VerifiedJwt): Promise<Authenticatable | RefusedToken | null> {
    if (!this.#jwts.settings.authenticates) return this.#userOf(verified.claims);
    return (await this.findActiveUser(token, verified)) ?? { failure: "inactive", userId: verified.userId };
  }

  async findActiveUser(token: string, { claims }: VerifiedJwt): Promise<TokenBearer | null> {
    const user = await this.#userOf(claims);
    return user !== null && (await this.#activeDigest(user, token)) !== null ? user : null;
  }

  async revoke(presented: string): Promise<string | null> {
    const verification = this.#jwts.verifyWithin(presented, Number.POSITIVE_INFINITY);
    if (isRefused(verification)) return null;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const user = await this.#userOf(verification.claims);
      const held = user === null ? null : await this.#heldDigest(user, presented, verification.claims);
      if (held === null) return null;
      await user!.revokeToken(held);
      // A model that still has it was not written, because a renewal came first.
      if (!(await user!.holdsToken(held))) break;
    }
    return verification.userId;
  }

  async forget(user: Authenticatable | null, token: string | null): Promise<void> {
    if (token === null) await (user as TokenBearer | null)?.revokeToken();
    else await this.revoke(token);
  }

  /** The same successor again, if this token was replaced about a minute ago or less. */
  async #repeat(
    user: TokenBearer,
    presented: string,
    claims: TokenClaims,
    admit: AdmitRenewal,
  ): Promise<RenewedToken | RefusedToken> {
    const abilities = await this.#abilitiesNow(user, claims);
    const token = await this.#heldSuccessor(user, presented, claims, abilities);
    if (token === null) return { failure: "inactive", userId: claims.sub };
    await admit(user);
    return { ...this.#issued(token, abilities), userId: claims.sub, isRepeated: true };
  }

  /** The digest under which a user holds a token, or the one that replaced it less than a minute ago; `null` if neither. */
  async #heldDigest(user: TokenBearer, presented: string, claims: TokenClaims): Promise<string | null> {
    const active = await this.#activeDigest(user, presented);
    if (active !== null) return active;
    const left = await this.#abilitiesNow(user, claims);
    const issued = abilitiesOf(claims.scope);
    // The user may have lost an ability since: then the successor has those that the token was issued with.
    const hasLost = issued !== null && left?.length !== issued.size;
    for (const abilities of hasLost ? [left, [...issued]] : [left]) {
      const successor = await this.#heldSuccessor(user, presented, claims, abilities);
      if (successor !== null) return this.#digestsOf(successor)[0]!;
    }
    return null;
  }

  /** The token that replaced another one less than a minute ago, if the user still holds it. */
  async #heldSuccessor(
    user: TokenBearer,
    presented: string,
    claims: TokenClaims,
    abilities: readonly string[] | null,
  ): Promise<string | null> {
    const newest = repeatPeriodOf(nowInSeconds());
    for (
      let period = newest;
      period > newest - REPEAT_SECONDS - REPEAT_PERIOD_SECONDS;
      period -= REPEAT_PERIOD_SECONDS
    ) {
      const token = this.#successor(presented, claims, abilities, period);
      if (await user.holdsToken(this.#digestsOf(token)[0]!)) return token;
    }
    return null;
  }

  #successor(presented: string, claims: TokenClaims, abilities: readonly string[] | null, period: number): string {
    // Nothing secret is derived: what makes it a token is the signature.
    const jti = digest(`${this.#digestsOf(presented)[0]}.${period}`).slice(0, TOKEN_ID_LENGTH);
    const scope = abilities === null ? {} : { scope: scopeOf(abilities) };
    return this.#jwts.issue(claims.sub, { ...scope, ...this.#authenticationIn(claims), jti }, period);
  }

  #authenticationIn(claims: TokenClaims): TokenAuthentication | null {
    return this.#jwts.settings.authenticationClaims ? authenticationIn(claims) : null;
  }

  async #abilitiesNow(user: object, { scope }: TokenClaims): Promise<readonly string[] | null> {
    const abilities = abilitiesOf(scope);
    return this.abilities.limit(user, abilities === null ? null : [...abilities]);
  }

  #userOf(claims: TokenClaims): Promise<TokenBearer | null> {
    return this.#model.findByAuthId(claims.sub) as Promise<TokenBearer | null>;
  }

  /** The digest under which a token is its user's active one; `null` if it is not. */
  async #activeDigest(user: TokenBearer, token: string): Promise<string | null> {
    for (const one of this.#digestsOf(token)) if (await user.holdsToken(one)) return one;
    return null;
  }

  /**
   * The digest that a token is stored with, followed by one that it may be stored with since an earlier version. If no two
   * signatures are equal, it is that of what is signed, so that a successor can be derived again.
   */
  #digestsOf(token: string): readonly string[] {
    const whole = digest(token);
    if (!RANDOMIZED.includes(this.#jwts.settings.signingKey.algorithm)) return [whole];
    return [digest(token.slice(0, token.lastIndexOf("."))), whole];
  }

  #issued(token: string, abilities: readonly string[] | null): IssuedToken {
    const { expiresInMinutes } = this.#jwts.settings;
    const expiresInSeconds = expiresInMinutes === null ? null : expiresInMinutes * 60;
    return { token, refresh: null, expiresInSeconds, abilities };
  }
}
