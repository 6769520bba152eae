import type { Authenticatable, UserId } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { randomToken } from "../../security/index.ts";
import { type JwtClaims, type JwtVerifyOptions, signJwt, tryVerifyJwt } from "../../security/jwt/index.ts";
import { type MaybePromise, nowInSeconds } from "../../support/index.ts";
import { type GrantedAbilities, joined, split } from "../abilities.ts";
import type { CompleteJwtSettings } from "../settings/driver-settings.ts";
import type { RefusedToken, TokenClaims, VerifiedJwt, Verifier } from "../verifier.ts";

const TOKEN_ID_BYTES = 16;

/** Signs and verifies a driver's JWTs. The stores that keep track of them extend this class. */
export abstract class JwtVerifier implements Verifier {
  readonly settings: CompleteJwtSettings;
  /** Decides on the abilities of tokens. */
  readonly abilities: GrantedAbilities;
  readonly #rules: JwtVerifyOptions;

  constructor(settings: CompleteJwtSettings, abilities: GrantedAbilities) {
    const { issuer, audience, clockSkewSeconds } = settings;
    this.settings = settings;
    this.abilities = abilities;
    this.#rules = Object.freeze({
      requireSubject: true,
      // All of the framework's own tokens have the same header, written by signJwt.
      exactTyp: true,
      clockSkewSeconds,
      // The version is checked before the expiry, so that an outdated token is never reported as merely expired.
      ignoreExpiry: true,
      ...(issuer === null ? {} : { issuer }),
      ...(audience === null ? {} : { audience }),
    });
  }

  abstract findUser(
    token: string,
    verified: VerifiedJwt,
    context: HttpContext,
  ): MaybePromise<Authenticatable | RefusedToken | null>;

  get authenticates(): boolean {
    return this.settings.authenticates;
  }

  recognizes(): boolean {
    return true;
  }

  /**
   * Signs a token.
   *
   * @param extra further claims
   * @param iat when the token is issued, in seconds
   */
  sign(id: UserId, extra: JwtClaims = {}, iat: number = nowInSeconds()): string {
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
   * Verifies a token without querying the database, in this order: size and shape, algorithm, signature, the claims'
   * types, version, expiry.
   *
   * @param graceInSeconds how long ago it may have expired
   */
  verify(token: string, graceInSeconds = 0): VerifiedJwt | RefusedToken {
    const outcome = tryVerifyJwt(token, this.settings.verificationKeys, this.#rules);
    if ("failure" in outcome) return { failure: outcome.failure, userId: null };
    const claims = outcome.claims as TokenClaims;
    const { sub: userId, scope, sid } = claims;
    if ((claims.ver ?? null) !== this.settings.version) return { failure: "version", userId };
    if (nowInSeconds() >= this.#expiry(claims) + graceInSeconds) return { failure: "expired", userId };
    return { userId, claims, abilities: abilitiesIn(scope), id: typeof sid === "string" ? sid : null };
  }

  /** Verifies a token, no matter how long ago it expired. */
  verifyExpired(token: string): VerifiedJwt | RefusedToken {
    return this.verify(token, Number.POSITIVE_INFINITY);
  }

  /** With `authenticates`, a token immediately loses the abilities that its user may no longer give. */
  abilitiesNow(user: Authenticatable, { abilities }: VerifiedJwt): MaybePromise<ReadonlySet<string> | null> {
    const { abilitiesOf, authenticates } = this.settings;
    return authenticates && abilitiesOf !== null ? this.abilities.limitPresented(user, abilities) : abilities;
  }

  /** A token that was issued when tokens didn't expire gets the current lifetime, counted from when it was issued. */
  #expiry({ exp, iat }: TokenClaims): number {
    if (exp !== undefined) return exp;
    const { expiresInMinutes } = this.settings;
    if (expiresInMinutes === null) return Number.POSITIVE_INFINITY;
    return iat === undefined ? 0 : iat + expiresInMinutes * 60;
  }
}

/** The abilities as a claim; no claim if the token has all. */
export function scopeOf(abilities: Iterable<string> | null): { readonly scope?: string } {
  const scope = joined(abilities);
  return scope === null ? {} : { scope };
}

/** The abilities in a claim `scope`; `null`, for all abilities, only if there is no such claim. */
export function abilitiesIn(scope: unknown): ReadonlySet<string> | null {
  if (scope === undefined) return null;
  return new Set(typeof scope === "string" ? split(scope) : []);
}
