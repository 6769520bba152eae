import { type Authenticatable, type CompleteLogin, DEFAULT_MAX_PER_USER } from "../auth/index.ts";
import type { HttpContext } from "../http/index.ts";
import type { MaybePromise } from "../support/index.ts";
import type { GrantedAbilities } from "./abilities.ts";
import type { TokenAuthentication } from "./token-authentication.ts";
import type { RefusedToken, VerifiedJwt } from "./token-verifier.ts";

/** One active token per user: {@link single}. */
export interface SingleTokensSettings {
  readonly kind: "single";
}

/** Any number of tokens per user: {@link many}. */
export interface ManyTokensSettings {
  readonly kind: "many";
  /** How long an access token is valid, in minutes. */
  readonly accessMinutes: number;
  /** How long a refresh token can be used, in days. */
  readonly refreshDays: number;
  /** How many logins a user can have at once; one beyond that ends the oldest. */
  readonly maxPerUser: number;
}

/** How many tokens a user has, and how they are renewed: `tokens` of a driver. */
export type TokensSettings = SingleTokensSettings | ManyTokensSettings;

/** Each user has one active token, whose digest is in a column of the user: `tokens` of a driver. This is the default. */
export function single(): SingleTokensSettings {
  return Object.freeze({ kind: "single" });
}

/**
 * Each login gets a token of its own, in the table `api_tokens`: `tokens` of a driver. The token is a short-lived access
 * token, and comes with a refresh token that is replaced each time it is used.
 *
 * ```ts
 * // in DRIVERS of config/api.ts
 * const jwt = { secret: env("JWT_SECRET"), model: User, tokens: many({ accessMinutes: 15, refreshDays: 30 }) };
 * ```
 *
 * @param options how long an access token is valid, in minutes (default: 15), how long a refresh token can be used, in
 * days (default: 30), and how many logins a user can have at once, 1 to 10,000 (default: 100): one beyond that ends the
 * oldest
 */
export function many(
  options: { readonly accessMinutes?: number; readonly refreshDays?: number; readonly maxPerUser?: number } = {},
): ManyTokensSettings {
  const { accessMinutes = 15, refreshDays = 30, maxPerUser = DEFAULT_MAX_PER_USER } = options;
  return Object.freeze({ kind: "many", accessMinutes, refreshDays, maxPerUser });
}

/** Who asks for a token. */
export interface TokenRequest {
  /** The client's address; `null` outside of a request. */
  readonly address: string | null;
  /** The client's user agent; `null` likewise. */
  readonly userAgent: string | null;
  /** The name of the new token, for its user; default: that of the device. */
  readonly name?: string | null;
  /** The abilities of the new token; default: all that the user may give. */
  readonly abilities?: readonly string[] | null;
  /** What the token says about the login; default: nothing. */
  readonly authentication?: TokenAuthentication | null;
}

/** A token as its user gets it. */
export interface IssuedToken {
  /** The token that requests carry. */
  readonly token: string;
  /** The token that renews it; `null` if it renews itself. */
  readonly refresh: string | null;
  /** How long it is valid, in seconds; `null`: forever. */
  readonly expiresInSeconds: number | null;
  /** What it may be used for; `null`: everything. */
  readonly abilities: readonly string[] | null;
}

/** Asks the steps of a login whether a user's token may be renewed, and throws what refuses the user. */
export type AdmitRenewal = (user: Authenticatable) => Promise<CompleteLogin>;

/** A token that was renewed. */
export interface RenewedToken extends IssuedToken {
  readonly userId: string;
  /** Whether an earlier request has renewed it, whose answer this repeats. */
  readonly isRepeated: boolean;
}

/** Keeps the tokens of a driver's users. */
export interface TokenStrategy {
  /** Decides what tokens may be used for. */
  readonly abilities: GrantedAbilities;
  /** Issues a user's new token, as `TokenService.grant`. */
  issue(user: Authenticatable, request: TokenRequest): Promise<IssuedToken>;
  /** Whose token this is, if it was issued here, no matter how long ago, to be used or to renew; otherwise `null`. */
  subjectOf(presented: string): string | null;
  /** Renews a token, or says why not. */
  renew(presented: string, request: TokenRequest, admit: AdmitRenewal): Promise<RenewedToken | RefusedToken>;
  /** The user that a verified token proves; see `TokenVerifier`. */
  findUser(
    token: string,
    verified: VerifiedJwt,
    context: HttpContext,
  ): MaybePromise<Authenticatable | RefusedToken | null>;
  /** The user whose active token this is; `null` if it is not. */
  findActiveUser(token: string, verified: VerifiedJwt): MaybePromise<Authenticatable | null>;
  /** Revokes a token, even if it has expired. Returns whose it was, if it was active. */
  revoke(presented: string): Promise<string | null>;
  /** Revokes the token of a request, for a logout; without one, what the user holds. */
  forget(user: Authenticatable | null, token: string | null, verified: VerifiedJwt | null): Promise<void>;
}
