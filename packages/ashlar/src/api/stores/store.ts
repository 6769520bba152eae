import type { Authenticatable, CompleteLogin } from "../../auth/index.ts";
import type { MaybePromise } from "../../support/index.ts";
import type { RefusedToken, TokenAuthentication, VerifiedJwt } from "../verifier.ts";
import type { JwtVerifier } from "../verifiers/jwt-verifier.ts";

/** The client that requests a token, and the token's properties. */
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
export type IssuedToken = Awaited<ReturnType<Store["issue"]>>;

/** A token that was renewed. */
export interface RenewedToken extends IssuedToken {
  readonly userId: string;
  /** Whether this repeats the response to an earlier request. */
  readonly isRepeated: boolean;
}

/**
 * Runs the login steps to decide whether a user's token may be renewed, and throws an error if one refuses the user.
 */
export type AdmitRenewal = (user: Authenticatable) => Promise<CompleteLogin>;

/** Keeps track of a driver's active JWTs: one for each user, or many. */
export interface Store extends JwtVerifier {
  /** Makes a user's new token, and makes it active. */
  issue(
    user: Authenticatable,
    request: TokenRequest,
  ): Promise<{
    /** The token that requests carry. */
    readonly token: string;
    /** The token that renews it; `null` if it renews itself. */
    readonly refresh: string | null;
    /** For how long it is valid, in seconds; `null`: forever. */
    readonly expiresInSeconds: number | null;
    /** The token's abilities; `null` if it has all. */
    readonly abilities: readonly string[] | null;
  }>;
  /** The user of an access or refresh token that was issued here, however long ago; otherwise `null`. */
  ownerOf(token: string): string | null;
  /** Renews a token, or returns why it is refused. */
  renew(token: string, request: TokenRequest, admit: AdmitRenewal): Promise<RenewedToken | RefusedToken>;
  /** The user whose active token this is; `null` if the token isn't active. */
  findActiveUser(token: string, verified: VerifiedJwt): MaybePromise<Authenticatable | null>;
  /** Revokes a token, even if it has expired. Returns its user if it was active. */
  revoke(token: string): Promise<string | null>;
  /** On logout, revokes the request's token; without one, the user's active one. */
  forget(user: Authenticatable | null, token: string | null, verified: VerifiedJwt | null): Promise<void>;
}
