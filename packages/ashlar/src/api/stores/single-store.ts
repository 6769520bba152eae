import type { Authenticatable } from "../../auth/index.ts";
import { digest } from "../../security/index.ts";
import type { JwtAlgorithm, JwtClaims } from "../../security/jwt/index.ts";
import { nowInSeconds, REPEAT_PERIOD_SECONDS, REPEAT_SECONDS, repeatPeriodOf } from "../../support/index.ts";
import type { TokenHolder, TokenHolders } from "../token-holder.ts";
import type { RefusedToken, TokenAuthentication, TokenClaims, VerifiedJwt } from "../verifier.ts";
import { abilitiesIn, JwtVerifier, scopeOf } from "../verifiers/jwt-verifier.ts";
import type { AdmitRenewal, IssuedToken, RenewedToken, Store, TokenRequest } from "./store.ts";

const TOKEN_ID_LENGTH = 22;
/** If a renewal comes before a concurrent logout, the logout ends the successor. */
const MAX_ROUNDS = 4;

/** Algorithms with signatures that differ each time. */
const RANDOMIZED: readonly JwtAlgorithm[] = ["ES256", "ES384", "ES512", "PS256", "PS384", "PS512"];

/**
 * One active token per user, or as many as your own `TokenHolder` class keeps.
 *
 * A token's successor is derived from the token and the time of the renewal. If a request is repeated, for example
 * because its response was lost, it gets the same successor, although nothing else is stored.
 */
export class SingleStore extends JwtVerifier implements Store {
  get #holders(): TokenHolders {
    return this.settings.model as TokenHolders;
  }

  async issue(user: Authenticatable, request: TokenRequest): Promise<IssuedToken> {
    const chosen = await this.abilities.choose(user, request.abilities ?? null);
    const abilities = await this.abilities.limit(user, chosen);
    const token = this.sign(user.authId(), { ...scopeOf(abilities), ...request.authentication });
    await (user as TokenHolder).activateToken(this.#digestsOf(token)[0]!);
    return this.#issued(token, abilities);
  }

  ownerOf(token: string): string | null {
    return this.verifyExpired(token).userId;
  }

  async renew(token: string, _request: TokenRequest, admit: AdmitRenewal): Promise<RenewedToken | RefusedToken> {
    const { reauthWithinMinutes } = this.settings;
    const verified = this.verify(token, (reauthWithinMinutes ?? Number.POSITIVE_INFINITY) * 60);
    if ("failure" in verified) return verified;
    const { userId, claims } = verified;
    const user = await this.#userOf(claims);
    if (user === null) return { failure: "inactive", userId };
    const active = await this.#activeDigest(user, token);
    if (active === null) return this.#repeat(user, token, claims, admit);
    await admit(user);
    const abilities = await this.#abilitiesOf(user, claims);
    const successor = this.#successor(token, claims, abilities, repeatPeriodOf(nowInSeconds()));
    // One conditional UPDATE decides between concurrent renewals: a read followed by a write would let both win.
    if (await this.#holders.replaceToken(userId, active, this.#digestsOf(successor)[0]!)) {
      return { ...this.#issued(successor, abilities), userId, isRepeated: false };
    }
    const fresh = await this.#userOf(claims);
    return fresh === null ? { failure: "inactive", userId } : this.#repeat(fresh, token, claims, admit);
  }

  async findUser(token: string, verified: VerifiedJwt): Promise<Authenticatable | RefusedToken | null> {
    if (!this.authenticates) return this.#userOf(verified.claims);
    return (await this.findActiveUser(token, verified)) ?? { failure: "inactive", userId: verified.userId };
  }

  async findActiveUser(token: string, { claims }: VerifiedJwt): Promise<TokenHolder | null> {
    const user = await this.#userOf(claims);
    return user !== null && (await this.#activeDigest(user, token)) !== null ? user : null;
  }

  async revoke(token: string): Promise<string | null> {
    const verified = this.verifyExpired(token);
    if ("failure" in verified) return null;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const user = await this.#userOf(verified.claims);
      const held = user === null ? null : await this.#heldDigest(user, token, verified.claims);
      if (held === null) return null;
      await user!.revokeToken(held);
      // If the model still has the digest, nothing was written, because a renewal came first.
      if (!(await user!.holdsToken(held))) break;
    }
    return verified.userId;
  }

  async forget(user: Authenticatable | null, token: string | null): Promise<void> {
    if (token === null) await (user as TokenHolder | null)?.revokeToken();
    else await this.revoke(token);
  }

  /** The same successor again, if this token was replaced about a minute ago or less. */
  async #repeat(
    user: TokenHolder,
    token: string,
    claims: TokenClaims,
    admit: AdmitRenewal,
  ): Promise<RenewedToken | RefusedToken> {
    const abilities = await this.#abilitiesOf(user, claims);
    const successor = await this.#heldSuccessor(user, token, claims, abilities);
    if (successor === null) return { failure: "inactive", userId: claims.sub };
    await admit(user);
    return { ...this.#issued(successor, abilities), userId: claims.sub, isRepeated: true };
  }

  /**
   * The digest under which a user's token is stored, or the digest that replaced it less than a minute ago; otherwise
   * `null`.
   */
  async #heldDigest(user: TokenHolder, token: string, claims: TokenClaims): Promise<string | null> {
    const active = await this.#activeDigest(user, token);
    if (active !== null) return active;
    const left = await this.#abilitiesOf(user, claims);
    const issued = abilitiesIn(claims.scope);
    // If the user has lost an ability since, the successor still has the abilities that the token was issued with.
    const hasLost = issued !== null && left?.length !== issued.size;
    for (const abilities of hasLost ? [left, [...issued]] : [left]) {
      const successor = await this.#heldSuccessor(user, token, claims, abilities);
      if (successor !== null) return this.#digestsOf(successor)[0]!;
    }
    return null;
  }

  /** The token that replaced another one less than a minute ago, if it is still the user's. */
  async #heldSuccessor(
    user: TokenHolder,
    token: string,
    claims: TokenClaims,
    abilities: readonly string[] | null,
  ): Promise<string | null> {
    const newest = repeatPeriodOf(nowInSeconds());
    const oldest = newest - REPEAT_SECONDS - REPEAT_PERIOD_SECONDS;
    for (let period = newest; period > oldest; period -= REPEAT_PERIOD_SECONDS) {
      const successor = this.#successor(token, claims, abilities, period);
      if (await user.holdsToken(this.#digestsOf(successor)[0]!)) return successor;
    }
    return null;
  }

  #successor(token: string, claims: TokenClaims, abilities: readonly string[] | null, period: number): string {
    // The derived value isn't secret. Only the signature makes it a token.
    const jti = digest(`${this.#digestsOf(token)[0]}.${period}`).slice(0, TOKEN_ID_LENGTH);
    const authentication = this.settings.authenticationClaims ? authenticationIn(claims) : null;
    return this.sign(claims.sub, { ...scopeOf(abilities), ...authentication, jti }, period);
  }

  /** A token's abilities, as far as its user may still give them. */
  async #abilitiesOf(user: object, { scope }: TokenClaims): Promise<readonly string[] | null> {
    const abilities = abilitiesIn(scope);
    return this.abilities.limit(user, abilities && [...abilities]);
  }

  #userOf(claims: TokenClaims): Promise<TokenHolder | null> {
    return this.#holders.findByAuthId(claims.sub) as Promise<TokenHolder | null>;
  }

  /** The digest under which a token is active for its user; `null` if it isn't active. */
  async #activeDigest(user: TokenHolder, token: string): Promise<string | null> {
    for (const one of this.#digestsOf(token)) if (await user.holdsToken(one)) return one;
    return null;
  }

  /**
   * The digest that a token is stored with, followed by one that it may be stored with since an earlier version. If the
   * algorithm's signatures differ each time, the digest covers the signed content instead, so that a successor can be
   * derived again.
   */
  #digestsOf(token: string): readonly string[] {
    const whole = digest(token);
    if (!RANDOMIZED.includes(this.settings.signingKey.algorithm)) return [whole];
    return [digest(token.slice(0, token.lastIndexOf("."))), whole];
  }

  #issued(token: string, abilities: readonly string[] | null): IssuedToken {
    const { expiresInMinutes } = this.settings;
    return { token, refresh: null, expiresInSeconds: expiresInMinutes && expiresInMinutes * 60, abilities };
  }
}

/** The information about its login in a token that was issued here; `null` if it has no such information. */
function authenticationIn({ auth_time, amr }: JwtClaims): TokenAuthentication | null {
  return typeof auth_time === "number" && Array.isArray(amr) ? { auth_time, amr } : null;
}
