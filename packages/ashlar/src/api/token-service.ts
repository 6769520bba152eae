import { type CompleteLogin, isUserClassOf, type UserId } from "../auth/index.ts";
import type { Events } from "../events/index.ts";
import type { Logger } from "../kernel/index.ts";
import { digest, randomToken } from "../security/index.ts";
import {
  type JwtClaims,
  type JwtFailure,
  type JwtVerifyOptions,
  signJwt,
  tryVerifyJwt,
} from "../security/jwt/index.ts";
import { AshlarError, currentDate, nowInSeconds } from "../support/index.ts";
import type {} from "./events.ts";
import type { CompleteJwtSettings } from "./settings.ts";
import type { TokenBearer, TokenModel } from "./token-model.ts";

/** The name of the guard, and of its driver, that identifies a request's user by the API token. */
export const JWT_GUARD = "jwt";

/** Why an API token was refused; an `inactive` token is valid, but not an active token of any user. */
export type TokenFailure = JwtFailure | "version" | "inactive";

/** A token that was refused. */
export interface RefusedToken {
  readonly failure: TokenFailure;
  /** Whose token it is; `null` if the signature, and therefore the content, cannot be trusted. */
  readonly userId: string | null;
}

/** The claims of an API token: `sub` is always set. */
export interface TokenClaims extends JwtClaims {
  readonly sub: string;
}

/** The claims of a valid token, or why it was refused. */
export type TokenVerification = { readonly claims: TokenClaims } | RefusedToken;

const TOKEN_ID_BYTES = 16;

/** Issues, verifies and renews API tokens. Bound to the container as `api`. */
export class TokenService {
  readonly settings: CompleteJwtSettings;
  readonly #model: TokenModel;
  readonly #rules: JwtVerifyOptions;
  readonly #events: Events | null;
  readonly #logger: Logger;

  constructor(settings: CompleteJwtSettings, events: Events | null, logger: Logger) {
    const { issuer, audience, clockSkewSeconds, model } = settings;
    this.settings = settings;
    this.#model = model;
    this.#events = events;
    this.#logger = logger;
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
  }

  /** Signs a token for a user without making it the active one; the user's `generateJwt()` does both. */
  issue(id: UserId): string {
    const { expiresInMinutes, version, issuer, audience, signingKey } = this.settings;
    const iat = nowInSeconds();
    const claims: JwtClaims = {
      sub: String(id),
      iat,
      ...(expiresInMinutes === null ? {} : { exp: iat + expiresInMinutes * 60 }),
      jti: randomToken(TOKEN_ID_BYTES),
      ...(version === null ? {} : { ver: version }),
      ...(issuer === null ? {} : { iss: issuer }),
      ...(audience === null ? {} : { aud: audience }),
    };
    return signJwt(claims, signingKey);
  }

  /**
   * Makes sure that a class's users are those whose keys the tokens hold.
   *
   * @throws `E_INVALID_MODEL` for any class but `DRIVERS.jwt.model`, and classes that extend it and keep its table
   */
  requireUserClass(userClass: object): void {
    const model = this.#model;
    if (isUserClassOf(userClass, model)) return;
    const { name } = userClass as { readonly name: string };
    const problem = `API tokens are for users of the class ${model.name}, not ${name}.`;
    const remedy = "The model is DRIVERS.jwt.model in config/api.ts.";
    throw new AshlarError("E_INVALID_MODEL", `${problem} ${remedy}`);
  }

  /**
   * Issues a logged-in user's new active token, replacing the previous one.
   *
   * @param login a complete one: no token is issued while a step is pending
   * @param address the client's address for the audit trail; `null` outside of a request
   * @throws as {@link issueUnasked}
   */
  issueTo(login: CompleteLogin, address: string | null): Promise<string> {
    return this.issueUnasked(login.user as TokenBearer, address);
  }

  /**
   * Issues a user's new active token regardless of login steps, because the application itself asks for it:
   * `generateJwt()`.
   *
   * @param address the client's address for the audit trail; `null` outside of a request
   * @throws `E_STALE_PROOF` if access to the account has ended since the user was read; `E_ROW_NOT_FOUND` if the user
   * is gone; `E_INVALID_MODEL` for a user of a class other than `DRIVERS.jwt.model`
   */
  async issueUnasked(user: TokenBearer, address: string | null): Promise<string> {
    this.requireUserClass(user.constructor);
    const token = this.issue(user.authId());
    await user.activateToken(digest(token));
    void this.#events?.emit("api.token_issued", { ...audit(address), userId: String(user.authId()) });
    return token;
  }

  /**
   * Verifies a token without querying the database, in this order: size and shape, algorithm, signature, the claims'
   * types, version, expiry.
   */
  verify(token: string): TokenVerification {
    return this.#verify(token, 0);
  }

  /**
   * The primary key of the user that a token was issued to, no matter how long ago; `null` if it was not issued here.
   */
  subjectOf(token: string): string | null {
    const verification = this.#verify(token, Number.POSITIVE_INFINITY);
    return "failure" in verification ? verification.userId : verification.claims.sub;
  }

  /**
   * Replaces a token, which may have expired, with a new one, provided that it is still its user's active token.
   *
   * @param admit asks the steps of a login, and throws what refuses the user; only called for the active token
   * @returns the new token, or `null` if the old one is refused or another request renewed it first
   */
  async renew(
    token: string,
    address: string | null,
    admit: (user: TokenBearer) => Promise<CompleteLogin>,
  ): Promise<string | null> {
    const { reauthWithinMinutes } = this.settings;
    const grace = reauthWithinMinutes === null ? Number.POSITIVE_INFINITY : reauthWithinMinutes * 60;
    const verification = this.#verify(token, grace);
    if ("failure" in verification) {
      this.refused(verification, address);
      return null;
    }
    const userId = verification.claims.sub;
    const user = await this.findActiveUser(token, verification.claims);
    if (user === null) {
      this.refused({ failure: "inactive", userId }, address);
      return null;
    }
    await admit(user);
    const renewed = this.issue(userId);
    // One conditional UPDATE decides between concurrent renewals: a read followed by a write would let both win.
    if (!(await this.#model.replaceToken(userId, digest(token), digest(renewed)))) {
      this.refused({ failure: "inactive", userId }, address);
      return null;
    }
    void this.#events?.emit("api.token_renewed", { ...audit(address), userId });
    return renewed;
  }

  /** The user in verified claims, or `null` if the user no longer exists. */
  findUser(claims: TokenClaims): Promise<TokenBearer | null> {
    return this.#model.findByAuthId(claims.sub) as Promise<TokenBearer | null>;
  }

  /** The user whose active token this is, by its verified claims; `null` if there is none. */
  async findActiveUser(token: string, claims: TokenClaims): Promise<TokenBearer | null> {
    const user = await this.findUser(claims);
    return user !== null && (await user.holdsToken(digest(token))) ? user : null;
  }

  /** Reports to listeners and the log that a token was refused, and why. */
  refused({ failure, userId }: RefusedToken, address: string | null): void {
    this.#logger.info({ reason: failure, userId, address }, "An API token was refused.");
    void this.#events?.emit("api.token_refused", { ...audit(address), userId, reason: failure });
  }

  #verify(token: string, graceInSeconds: number): TokenVerification {
    const outcome = tryVerifyJwt(token, this.settings.verificationKeys, this.#rules);
    if ("failure" in outcome) return { failure: outcome.failure, userId: null };
    const claims = outcome.claims as TokenClaims;
    if ((claims.ver ?? null) !== this.settings.version) return { failure: "version", userId: claims.sub };
    if (nowInSeconds() >= this.#expiry(claims) + graceInSeconds) return { failure: "expired", userId: claims.sub };
    return { claims };
  }

  /** A token from a time when tokens did not expire gets today's lifetime, counted from when it was issued. */
  #expiry({ exp, iat }: TokenClaims): number {
    if (exp !== undefined) return exp;
    const { expiresInMinutes } = this.settings;
    if (expiresInMinutes === null) return Number.POSITIVE_INFINITY;
    return iat === undefined ? 0 : iat + expiresInMinutes * 60;
  }
}

function audit(address: string | null): { time: Date; address: string | null; guard: string } {
  return { time: currentDate(), address, guard: JWT_GUARD };
}
