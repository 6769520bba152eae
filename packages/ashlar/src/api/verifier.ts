import type { Authenticatable } from "../auth/index.ts";
import type { HttpContext } from "../http/index.ts";
import type { JwtClaims, JwtFailure } from "../security/jwt/index.ts";
import type { MaybePromise } from "../support/index.ts";

/**
 * Why an API token was refused. An `inactive` token is valid, but not an active token of any user; a `reused` one was
 * replaced more than a minute ago, and has ended all of its successors. `not_in_header` means that a personal token was
 * sent as an input; `not_a_refresh_token`, that an access token was sent where only refresh tokens are accepted;
 * `keys_unavailable`, that the issuer's keys could not be fetched, so the token could not be verified.
 */
export type TokenFailure =
  | JwtFailure
  | "version"
  | "inactive"
  | "reused"
  | "not_in_header"
  | "not_a_refresh_token"
  | "keys_unavailable";

/** The refusal of a token. */
export interface RefusedToken {
  readonly failure: TokenFailure;
  /** The token's owner; `null` if the signature, and therefore the content, cannot be trusted. */
  readonly userId: string | null;
}

/** The claims of an API token: `sub` is always set. */
export interface TokenClaims extends JwtClaims {
  readonly sub: string;
}

/** The facts that an accepted token proves. */
export interface VerifiedToken {
  /** The primary key of its user, as text; `null` if only {@link Verifier.findUser} can determine it. */
  readonly userId: string | null;
  /** The claims of a JWT; `null` for a token without any. */
  readonly claims: TokenClaims | null;
  /** The token's abilities; `null` for all. */
  readonly abilities: ReadonlySet<string> | null;
  /**
   * Identifies the token's row; `null` if it has none. With `many()`, it is the claim `sid`, which all access tokens of
   * a login share; for a personal token, it is the row's key.
   */
  readonly id: string | null;
}

/** The facts proved by an issuing driver's JWT. */
export interface VerifiedJwt extends VerifiedToken {
  readonly userId: string;
  readonly claims: TokenClaims;
}

/** A token that a driver issued, active or not. */
export interface FoundToken {
  /** The primary key of its user, as text. */
  readonly owner: string;
  /**
   * Revokes it if it is active.
   *
   * @param address the client's address for the audit trail; `null` outside of a request
   */
  revoke(address: string | null): Promise<unknown>;
}

/** When and how a token's user proved who they are, as claims. */
export interface TokenAuthentication {
  /** The time, in seconds since 1970 (OpenID Connect Core 1.0 §2). */
  readonly auth_time: number;
  /** The methods, in the values of RFC 8176: `["pwd", "otp", "mfa"]`. */
  readonly amr: readonly string[];
}

/**
 * Verifies tokens of one kind: signed by the application, signed by another issuer, or looked up in a table. A driver
 * has one or more verifiers.
 */
export interface Verifier {
  /** Whether a request passes only if {@link Verifier.findUser} has found a user. */
  readonly authenticates: boolean;
  /** Whether tokens of this kind are refused as the input `token`, because they last too long to be in URLs. */
  readonly isHeaderOnly?: boolean;
  /** Reports whether a token is of this kind, judging only by its form. */
  recognizes(token: string): boolean;
  /**
   * Whether another issuer has signed a token for this application, even if it has expired, or isn't valid yet. The
   * application can't revoke such a token. `"unknown"` if the issuer's keys could not be fetched. Without this method,
   * no other issuer signs tokens of this kind.
   */
  isSignedElsewhere?(token: string): MaybePromise<boolean | "unknown">;
  /** Verifies a token. Returns a promise only if something has to be fetched or looked up. */
  verify(token: string): MaybePromise<VerifiedToken | RefusedToken>;
  /**
   * Returns the user of a verified token; `null` if the user doesn't exist; a refusal if the token is no longer active.
   *
   * @param verified the result of {@link Verifier.verify} for this token
   * @param context the request's context. If its `isReadOnly` is set, nothing may be stored, such as that the token was
   * used
   */
  findUser(
    token: string,
    verified: VerifiedToken,
    context: HttpContext,
  ): MaybePromise<Authenticatable | RefusedToken | null>;
  /**
   * The abilities of a verified token after its user has been found; `null` for all. Without this method, they are
   * those that {@link verify} returned.
   */
  abilitiesNow?(user: Authenticatable, verified: VerifiedToken): MaybePromise<ReadonlySet<string> | null>;
}
