import type { Authenticatable, CompleteLogin } from "../../auth/index.ts";
import type { MaybePromise } from "../../support/index.ts";
import type { RefusedToken, TokenAuthentication, VerifiedJwt } from "../verifier.ts";
import type { JwtVerifier } from "../verifiers/jwt-verifier.ts";

/** The client that requests a token, and the token's properties. */
export interface TokenRequest {
  /** The client's address; `null` outside of a request. */
  readonly address: string | null;
  /** The client's user agent; `null` outside of a request. */
  readonly userAgent: string | null;
  /** The new token's name for its user; default: the device's name. */
  readonly name?: string | null;
  /** The abilities of the new token; default: all that the user may give. */
  readonly abilities?: readonly string[] | null;
  /** The data in the token about the login; default: none. */
  readonly authentication?: TokenAuthentication | null;
}

/** A token, as returned to its user. */
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
  /** Creates a user's new token, and makes it active. */
  issue(
    user: Authenticatable,
    request: TokenRequest,
  ): Promise<{
    /** The token to send with requests. */
    readonly token: string;
    /** The token used to renew it; `null` if it is renewed with itself. */
    readonly refresh: string | null;
    /** How long it is valid, in seconds; `null` if it doesn't expire. */
    readonly expiresInSeconds: number | null;
    /** The token's abilities; `null` if it has all. */
    readonly abilities: readonly string[] | null;
  }>;
  /** The user of an access or refresh token that the driver issued, however long ago; otherwise `null`. */
  ownerOf(token: string): string | null;
  /** Renews a token, or returns why it is refused. */
  renew(token: string, request: TokenRequest, admit: AdmitRenewal): Promise<RenewedToken | RefusedToken>;
  /** The user with this active token; `null` if the token isn't active. */
  findActiveUser(token: string, verified: VerifiedJwt): MaybePromise<Authenticatable | null>;
  /** Revokes a token, even if it has expired. Returns its user if it was active. */
  revoke(token: string): Promise<string | null>;
  /** On logout, revokes the request's token; without one, the user's active one. */
  forget(user: Authenticatable | null, token: string | null, verified: VerifiedJwt | null): Promise<void>;
}
