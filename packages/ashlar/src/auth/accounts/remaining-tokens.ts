import { userClassOf } from "../authenticatable.ts";

/**
 * API tokens that stay valid after everything about an account that can be ended has been: no request looks them up in
 * the database, so only time, or a change of configuration for all users, ends them.
 */
export interface RemainingTokens {
  /** How long the last of them can still be used, in minutes; `null`: forever. */
  readonly expiresInMinutes: number | null;
}

/** Tells which API tokens the users of a model keep when their access ends; `null`: none. */
export type RemainingTokensOf = (model: object) => RemainingTokens | null;

/** Knows which API tokens outlive what ends a user's access: the API, which comes after accounts, says so. */
export class TokenRemains {
  #of: RemainingTokensOf = () => null;

  /** Sets what tells it; none remain before. */
  tellBy(remainingTokensOf: RemainingTokensOf): void {
    this.#of = remainingTokensOf;
  }

  /** The API tokens that the users of a model keep when their access ends; `null`: none. */
  of(model: object): RemainingTokens | null {
    return this.#of(userClassOf(model));
  }
}
