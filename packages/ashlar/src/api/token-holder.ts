import type { Authenticatable, AuthenticatableClass, UserId } from "../auth/index.ts";
import type { MaybePromise } from "../support/index.ts";

/**
 * A user who can have API tokens. The mixin `AuthenticatesTokens` implements it for a model, with one active token
 * per user; another class may keep several.
 *
 * A token is active from when it is issued until it is renewed or revoked. Only its digest is stored, never the token:
 * the SHA-256 in base64url, 43 characters.
 *
 * Security: everything that ends access to the account must also end its tokens, in the same transaction. Implement
 * `endCredentials()`, which is called at that time, or bind the stored digests to `accessEpoch()`.
 */
export interface TokenHolder extends Authenticatable {
  /** Reports whether the token with this digest is active. Compare in constant time. */
  holdsToken(digest: string): MaybePromise<boolean>;
  /**
   * Activates a new token. Others may stay active or not.
   *
   * @throws `E_STALE_PROOF` if access to the account has ended since the user was read; `E_ROW_NOT_FOUND` if the user
   *   is gone. Nothing is stored then: one conditional statement decides, not an earlier query
   */
  activateToken(digest: string): Promise<void>;
  /**
   * Revokes a token, as on logout.
   *
   * @param digest the token's digest; default: all of the user's tokens
   */
  revokeToken(digest?: string): Promise<void>;
}

/** The class of users who can have API tokens, or an object that finds them: `DRIVERS.jwt.model`. */
export interface TokenHolders extends AuthenticatableClass {
  /**
   * Replaces an active token with its successor, with one statement, so that of several concurrent calls for the same
   * token only one succeeds.
   *
   * @param id the user's primary key, as text
   * @param replaced the digest that must still be active
   * @returns whether it was still active and has been replaced
   */
  replaceToken(id: UserId, replaced: string, digest: string): Promise<boolean>;
}

/**
 * Reports whether users of a class can have API tokens: it has the mixin `AuthenticatesTokens`, or equivalent methods.
 */
export function holdTokens(users: AuthenticatableClass): users is TokenHolders {
  const { replaceToken } = users as Partial<TokenHolders>;
  const { prototype } = users.userClass ?? (users as unknown as { readonly prototype: object });
  const { holdsToken, activateToken, revokeToken } = prototype as Partial<TokenHolder>;
  return [replaceToken, holdsToken, activateToken, revokeToken].every((method) => typeof method === "function");
}
