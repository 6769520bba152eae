import {
  type Authenticatable,
  type AuthenticatableClass,
  isAuthenticatableClass,
  type UserClass,
  type UserId,
  userClassOf,
} from "../auth/index.ts";
import { ConfigurationError, type MaybePromise } from "../support/index.ts";

/**
 * A user who can have API tokens. The mixin `AuthenticatesTokens` implements it for a model, with one active token
 * per user; another class may keep several.
 *
 * A token is active from when it is issued until it is renewed or revoked. Only its digest is stored, never the token:
 * the SHA-256 in base64url, 43 characters.
 *
 * Security: everything that ends access to the account must end its tokens, in the same transaction: implement
 * `endCredentials()`, which is called then, or bind the stored digests to `accessEpoch()`.
 */
export interface TokenBearer extends Authenticatable {
  /** Returns whether the token with this digest is active. Compare in constant time. */
  holdsToken(digest: string): MaybePromise<boolean>;
  /**
   * Makes a new token active, and decides whether others stay active.
   *
   * @throws `E_STALE_PROOF` if access to the account has ended since the user was read; `E_ROW_NOT_FOUND` if the user
   *   is gone. Nothing is stored then: one conditional statement decides, not an earlier query
   */
  activateToken(digest: string): Promise<void>;
  /**
   * Revokes a token, for a logout.
   *
   * @param digest the token's digest; default: all of the user's tokens
   */
  revokeToken(digest?: string): Promise<void>;
}

/** The class of users who can have API tokens, or what finds them: `DRIVERS.jwt.model`. */
export interface TokenModel extends AuthenticatableClass {
  /**
   * Replaces an active token with its successor, by one statement: of several that replace the same token, one does.
   *
   * @param id the user's primary key, as text
   * @param replaced the digest that must still be active
   * @returns whether it was, and has been replaced
   */
  replaceToken(id: UserId, replaced: string, digest: string): Promise<boolean>;
}

/**
 * Returns a model, provided that its users can log in.
 *
 * @throws `E_INVALID_MODEL` if it lacks the mixin `Authenticates`
 */
export function requireUserModel(model: object & { readonly name: string }, where: string): AuthenticatableClass {
  if (isAuthenticatableClass(model)) return model;
  throw lacking(model, "Authenticates", where);
}

/**
 * Returns a model, provided that it can have API tokens.
 *
 * @param where its location for the message, such as `config/api.ts: DRIVERS.jwt.model`
 * @throws `E_INVALID_MODEL` with the name of the mixin it lacks
 */
export function requireTokenModel(model: object & { readonly name: string }, where: string): TokenModel {
  const missing = missingMixin(model);
  if (missing === null) return model as unknown as TokenModel;
  throw lacking(model, missing, where);
}

function lacking({ name }: { readonly name: string }, mixin: string, where: string): ConfigurationError {
  const problem = `${name} lacks what the mixin ${mixin} adds.`;
  const remedy = `Declare it as class ${name} extends compose(Model, Authenticates, AuthenticatesTokens).`;
  return new ConfigurationError(where, problem, remedy, "E_INVALID_MODEL");
}

function missingMixin(model: object): string | null {
  if (!isAuthenticatableClass(model)) return "Authenticates";
  const { replaceToken } = model as unknown as Record<string, unknown>;
  const { prototype } = userClassOf(model) as UserClass;
  const { holdsToken, activateToken, revokeToken } = prototype as Record<string, unknown>;
  const methods = [replaceToken, holdsToken, activateToken, revokeToken];
  const isTokenModel = methods.every((method) => typeof method === "function");
  return isTokenModel ? null : "AuthenticatesTokens";
}
