import { userClassOf } from "../../users/authenticatable.ts";

/**
 * API tokens that stay valid after everything else about an account has ended: requests don't look them up in the
 * database, so only time, or a change of configuration for all users, ends them.
 */
export interface RemainingTokens {
  /** How long the last of them can still be used, in minutes; `null`: forever. */
  readonly expiresInMinutes: number | null;
}

/** Returns which API tokens the users of a model keep when their access ends; `null`: none. */
export type RemainingTokensOf = (model: object) => RemainingTokens | null;

/** Finds out which API tokens stay valid when a user's access ends. The API, which starts after accounts, sets this. */
export class RemainingTokenSource {
  #of: RemainingTokensOf = () => null;

  /** Sets the function that determines them; before that, none remain. */
  use(remainingTokensOf: RemainingTokensOf): void {
    this.#of = remainingTokensOf;
  }

  /** The API tokens that the users of a model keep when their access ends; `null`: none. */
  of(model: object): RemainingTokens | null {
    return this.#of(userClassOf(model));
  }
}
