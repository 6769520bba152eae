import { type Authenticatable, type AuthenticatableClass, isAuthenticatableClass, type UserId } from "../auth/index.ts";
import { ConfigurationError } from "../support/index.ts";

/** What the API asks of a user beyond what auth does. The mixin {@link AuthenticatesTokens} gives it to a model. */
export interface TokenBearer extends Authenticatable {
  /** The stored digest of the user's active token, or `null` where there is none. */
  tokenDigest(): string | null;
  /**
   * Stores the digest of the user's new active token, or `null` to have none.
   *
   * @throws `E_STALE_PROOF` where there is a digest to store, and access to the account has ended since the user was read
   */
  storeTokenDigest(digest: string | null): Promise<void>;
}

/** What the API asks of a user's class beyond what auth does. */
export interface TokenModel extends AuthenticatableClass {
  /**
   * Replaces the stored digest of a user's active token in one conditional UPDATE.
   *
   * @param id the user's primary key, as text
   * @param replaced the digest that must still be stored
   * @returns whether it was, and so was replaced
   */
  replaceTokenDigest(id: UserId, replaced: string, digest: string): Promise<boolean>;
}

/**
 * Gives a model back, provided that it can bear tokens.
 *
 * @param where its place for the message, such as `config/api.ts: DRIVERS.jwt.model`
 * @throws `E_INVALID_MODEL` that names the mixin it lacks
 */
export function requireTokenModel(model: object & { readonly name: string }, where: string): TokenModel {
  const missing = missingMixin(model);
  if (missing === null) return model as unknown as TokenModel;
  const problem = `${model.name} lacks what the mixin ${missing} gives.`;
  const remedy = `Declare it as class ${model.name} extends compose(Model, Authenticates, AuthenticatesTokens).`;
  throw new ConfigurationError(where, problem, remedy, "E_INVALID_MODEL");
}

function missingMixin(model: object): string | null {
  if (!isAuthenticatableClass(model)) return "Authenticates";
  const { replaceTokenDigest, prototype } = model as unknown as Record<string, unknown>;
  const { tokenDigest, storeTokenDigest } = prototype as Record<string, unknown>;
  const isTokenModel = [replaceTokenDigest, tokenDigest, storeTokenDigest].every((one) => typeof one === "function");
  return isTokenModel ? null : "AuthenticatesTokens";
}
